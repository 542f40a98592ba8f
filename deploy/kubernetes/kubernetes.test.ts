import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { parseAllDocuments } from 'yaml'
import {
  assertCommand,
  assertResource,
  assertSettings,
  ROOT,
  readYaml,
  VERSION,
} from '../check-deployment.ts'

const FOLDER = 'deploy/kubernetes'
const KUSTOMIZATIONS = [`${FOLDER}/migrate`, `${FOLDER}/service`]
const paths = globSync(`${FOLDER}/*/*.yaml`, { cwd: ROOT }).sort()
const resources = paths.filter(path => !path.endsWith('kustomization.yaml')).flatMap(readYaml)
const settings = resources.find(({ kind }) => kind === 'ConfigMap')
const workloads = resources.filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
const deployments = resources.filter(({ kind }) => kind === 'Deployment')

/** The only container of a pod. */
function containerOf(workload: (typeof workloads)[number]) {
  const { containers } = workload.spec.template.spec
  assert.equal(containers.length, 1)
  return containers[0]
}

describe('the manifests for Kubernetes', () => {
  it('follow the schemas of Kubernetes 1.37', () => {
    assert.equal(resources.length, 8)
    for (const resource of resources) assertResource(resource)
    const [serve] = deployments
    assert.throws(() => assertResource({ ...serve, spec: { ...serve.spec, replica: 2 } }))
  })

  it('set only settings that exist', () => {
    assertSettings(settings.data)
    for (const workload of workloads) {
      const { env, envFrom } = containerOf(workload)
      assert.equal(env, undefined, 'all settings are in the ConfigMap')
      assert.deepEqual(envFrom, [{ configMapRef: { name: settings.metadata.name } }])
    }
  })

  it('take secrets by reference, as files', () => {
    const files = Object.entries<string>(settings.data).filter(([name]) => name.endsWith('_FILE'))
    assert.equal(files.length, 3)
    for (const workload of workloads) {
      const { volumes } = workload.spec.template.spec
      const { secret } = volumes.find(({ name }: { name: string }) => name === 'secrets')
      assert.equal(secret.secretName, 'signalbox')
      const mount = containerOf(workload).volumeMounts.find(
        ({ name }: { name: string }) => name === 'secrets',
      )
      for (const [, path] of files) assert.equal(dirname(path), mount.mountPath)
    }
    assert.ok(resources.every(({ kind }) => kind !== 'Secret'))
  })

  it('run commands that exist, without privileges', async () => {
    for (const workload of workloads) {
      const container = containerOf(workload)
      await assertCommand(container.args)
      const { securityContext, automountServiceAccountToken } = workload.spec.template.spec
      assert.equal(securityContext.runAsNonRoot, true)
      assert.equal(automountServiceAccountToken, false)
      assert.equal(container.securityContext.readOnlyRootFilesystem, true)
      assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'] })
      assert.ok(container.resources.limits.memory && container.resources.requests.cpu)
    }
  })

  it('probe ports that the image listens on', () => {
    const [, exposed = ''] =
      /^EXPOSE (.*)$/m.exec(readFileSync(join(ROOT, 'Containerfile'), 'utf8')) ?? []
    for (const deployment of deployments) {
      const container = containerOf(deployment)
      const named = container.ports.map(({ name }: { name: string }) => name)
      for (const { containerPort } of container.ports) {
        assert.ok(exposed.split(' ').includes(String(containerPort)))
      }
      const { startupProbe, livenessProbe, readinessProbe } = container
      for (const probe of [startupProbe, livenessProbe]) assert.equal(probe.httpGet.path, '/livez')
      for (const probe of [startupProbe, livenessProbe, readinessProbe ?? livenessProbe]) {
        assert.ok(named.includes(probe.httpGet.port))
      }
    }
    assert.equal(containerOf(deployments.find(isServe)).readinessProbe.httpGet.path, '/readyz')
  })

  it('give each deployment more time to end than the shutdown takes', () => {
    for (const deployment of deployments) {
      const { preStop } = containerOf(deployment).lifecycle ?? {}
      const seconds = deployment.spec.template.spec.terminationGracePeriodSeconds
      assert.ok(seconds >= 35 + (preStop?.sleep.seconds ?? 0), deployment.metadata.name)
    }
  })

  it('select the pods of each deployment, and limit how many are evicted at once', () => {
    for (const { metadata, spec } of deployments) {
      const { labels } = spec.template.metadata
      assert.deepEqual(spec.selector.matchLabels, labels)
      const budget = resources.find(
        each => each.kind === 'PodDisruptionBudget' && each.metadata.name === metadata.name,
      )
      assert.deepEqual(budget.spec.selector.matchLabels, labels)
      assert.ok(budget.spec.minAvailable < spec.replicas, 'a node can be drained')
    }
    const service = resources.find(({ kind }) => kind === 'Service')
    const serve = deployments.find(isServe)
    assert.deepEqual(service.spec.selector, serve.spec.template.metadata.labels)
    assert.equal(service.spec.ports[0].targetPort, 'http')
  })

  it('name this version', () => {
    for (const folder of KUSTOMIZATIONS) {
      const [{ images, resources: files }] = readYaml(`${folder}/kustomization.yaml`)
      assert.deepEqual(
        images.map(({ newTag }: { newTag: string }) => newTag),
        [VERSION],
      )
      for (const file of files) assert.ok(globSync(join(ROOT, folder, file)).length === 1, file)
    }
    const job = resources.find(({ kind }) => kind === 'Job')
    assert.equal(job.metadata.name, `signalbox-migrate-${VERSION.replaceAll('.', '-')}`)
  })

  it('are built by kustomize', test => {
    for (const folder of KUSTOMIZATIONS) {
      const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], {
        cwd: ROOT,
        encoding: 'utf8',
      })
      if (status === null) return test.skip('NOT RUN: kubectl is not on PATH')
      assert.equal(status, 0, stderr)
      for (const document of parseAllDocuments(stdout)) {
        const resource = document.toJS()
        assertResource(resource)
        const [container] = resource.spec?.template?.spec?.containers ?? []
        if (container) assert.equal(container.image, `registry.example.com/signalbox:${VERSION}`)
      }
    }
  })
})

function isServe({ metadata }: { metadata: { name: string } }): boolean {
  return metadata.name === 'signalbox-serve'
}
