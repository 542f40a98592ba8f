// Full run only: compiles Helm from source, some minutes the first time.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { listSettings } from '../../service/runtime/settings/settings.ts'
import { PLATFORM_SETTINGS } from '../../service/signals/platforms/plug-ins.ts'
import {
  findProgram,
  installOnce,
  openToolchain,
  runTool,
  UnavailableError,
} from '../../testing/toolchains.ts'
import {
  assertCommand,
  assertResource,
  assertSettings,
  ROOT,
  readYaml,
  VERSION,
} from '../check-deployment.ts'
import { buildChart } from '../release/build-artifacts.ts'

const HELM = '4.3.1'
const GO_MINOR_MIN = 26
const COMPILE_MILLISECONDS_MAX = 1_200_000
const CHART = 'deploy/helm/signalbox'
const MANIFESTS = globSync('deploy/kubernetes/{base,service}/*.yaml', { cwd: ROOT })
  .filter(path => !path.endsWith('kustomization.yaml'))
  .flatMap(readYaml)

/** The real Helm, or null when this machine cannot have it. */
function openHelm(test: TestContext): string | null {
  const folder = join(ROOT, 'node_modules/.cache', `helm-${HELM}`)
  return openToolchain(test, 'go', () => {
    const go = findProgram('go')
    const version = runTool([go, 'env', 'GOVERSION'], ROOT).trim()
    if (Number(version.split('.')[1]) < GO_MINOR_MIN) {
      throw new UnavailableError(`Helm needs Go 1.${GO_MINOR_MIN}, and this is ${version}.`)
    }
    installOnce(folder, () => compile(go, folder))
    return join(folder, 'helm')
  })
}

function compile(go: string, folder: string): void {
  const { status, stderr } = spawnSync(go, ['install', `helm.sh/helm/v4/cmd/helm@v${HELM}`], {
    env: { ...process.env, GOBIN: folder, GOTOOLCHAIN: 'local', GOFLAGS: '' },
    encoding: 'utf8',
    timeout: COMPILE_MILLISECONDS_MAX,
  })
  if (status !== 0) throw new UnavailableError(`Helm was not compiled: ${stderr.slice(-500)}`)
}

// biome-ignore lint/suspicious/noExplicitAny: the schemas check what is in them.
type Resource = any

function render(helm: string, chart: string, ...options: string[]): Resource[] {
  const output = runTool([helm, 'template', 'signalbox', chart, ...options], ROOT)
  return parseAllDocuments(output, { merge: true }).map(document => {
    assert.deepEqual([...document.errors, ...document.warnings], [])
    return document.toJS()
  })
}

const named = ({ kind, metadata }: Resource) => `${kind} ${metadata.name}`

/** What only a chart has: the image of the release, and a new pod for new settings. */
function withoutChartParts(resource: Resource): Resource {
  const { template } = resource.spec ?? {}
  if (!template) return resource
  const { annotations: _, ...metadata } = template.metadata
  const [container] = template.spec.containers
  const spec = { ...template.spec, containers: [{ ...container, image: 'signalbox' }] }
  return { ...resource, spec: { ...resource.spec, template: { metadata, spec } } }
}

it('Helm finds no fault, and renders what the manifests for Kustomize are', async test => {
  const helm = openHelm(test)
  if (helm === null) return
  runTool([helm, 'lint', '--strict', CHART], ROOT)
  const rendered = render(helm, CHART)
  for (const resource of rendered) assertResource(resource)
  const hooks = rendered.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'])
  const others = rendered.filter(resource => !hooks.includes(resource))
  const byName = (one: Resource, other: Resource) => (named(one) < named(other) ? -1 : 1)
  assert.deepEqual(others.map(withoutChartParts).sort(byName), MANIFESTS.toSorted(byName))

  assert.deepEqual(hooks.map(named), ['ConfigMap signalbox-migrate', 'Job signalbox-migrate'])
  const [settings, job] = hooks
  assert.deepEqual(settings.data, others.find(({ kind }) => kind === 'ConfigMap').data)
  assertSettings(settings.data)
  for (const { spec } of [job, ...others].filter(({ spec }) => spec?.template)) {
    const [container] = spec.template.spec.containers
    assert.equal(container.image, `registry.example.com/signalbox:${VERSION}`)
    await assertCommand(container.args)
    assert.equal(spec.template.spec.automountServiceAccountToken, false)
    assert.equal(container.securityContext.readOnlyRootFilesystem, true)
  }
})

it('two releases in one namespace share no name and no pod, and other values are applied', test => {
  const helm = openHelm(test)
  if (helm === null) return
  const options = ['--set', 'serve.replicas=1,deliver.replicas=4,image.tag=9.9.9,secretName=keys']
  const output = runTool([helm, 'template', 'eu', CHART, ...options], ROOT)
  const resources: Resource[] = parseAllDocuments(output).map(document => document.toJS())
  for (const resource of resources) {
    assertResource(resource)
    assert.match(resource.metadata.name, /^eu-signalbox/)
    const { template, selector } = resource.spec ?? {}
    if (template) {
      assert.equal(template.metadata.labels['app.kubernetes.io/instance'], 'eu')
      assert.equal(template.spec.containers[0].image, 'registry.example.com/signalbox:9.9.9')
      assert.equal(template.spec.volumes[0].secret.secretName, 'keys')
    }
    const labels = selector?.matchLabels ?? selector
    if (labels) assert.equal(labels['app.kubernetes.io/instance'], 'eu')
  }
  const budgets = resources.filter(({ kind }) => kind === 'PodDisruptionBudget')
  assert.deepEqual(
    budgets.map(({ metadata, spec }) => [metadata.name, spec.minAvailable]),
    [['eu-signalbox-deliver', 3]],
    'one pod alone has no budget, which would keep its node from being drained',
  )
})

it('the schema of the values refuses every setting that is a secret', () => {
  const schema = JSON.parse(readFileSync(join(ROOT, CHART, 'values.schema.json'), 'utf8'))
  const secrets = listSettings(PLATFORM_SETTINGS).filter(([, { isSecret }]) => isSecret)
  assert.deepEqual(
    schema.properties.settings.properties,
    Object.fromEntries(secrets.map(([, { variable }]) => [variable, false])),
  )
})

it('values with an unknown name, a number as a setting or a secret are refused', test => {
  const helm = openHelm(test)
  if (helm === null) return
  for (const [wrong, reason] of [
    ['serve.replica=3', /replica/],
    ['settings.SIGNALBOX_HTTP_WORKERS=2', /string/],
    ['settings.DATABASE_URL=postgres://u:p@db/signalbox', /DATABASE_URL/],
  ] as const) {
    assert.throws(
      () => runTool([helm, 'template', 'signalbox', CHART, '--set', wrong], ROOT),
      reason,
    )
  }
})

it('the chart of a release is the one of the repository', test => {
  const helm = openHelm(test)
  if (helm === null) return
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-chart-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const chart = join(folder, buildChart(folder))
  assert.deepEqual(render(helm, chart), render(helm, CHART))
  assert.match(
    runTool([helm, 'show', 'chart', chart], ROOT),
    new RegExp(`^version: ${VERSION}$`, 'm'),
  )
})
