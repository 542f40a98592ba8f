import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings as readSimulatorSettings } from '@signalbox/graph-simulator/read-settings.ts'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseAllDocuments } from 'yaml'
import { runCommandLine } from '../service/program/roles/command-line.ts'
import { readSettings } from '../service/runtime/settings/read-settings.ts'
import { listSettings, type Settings } from '../service/runtime/settings/settings.ts'
import { PLATFORM_SETTINGS } from '../service/signals/platforms/plug-ins.ts'

export const ROOT = join(import.meta.dirname, '..')
export const { version: VERSION, dependencies: DEPENDENCIES } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
)

export type Variables = Record<string, string>

/** Variables of other programs that the files may set. */
const OTHER_VARIABLES = ['NODE_ENV', 'NODE_OPTIONS']
const SIMULATOR_VARIABLES = ['SIMULATOR_HOST', 'SIMULATOR_PORT', 'SIMULATOR_EVENTS_MAX']
/** Stand in for the files that a deployment names. */
const SECRETS: Variables = {
  DATABASE_URL: 'postgres://signalbox:secret@postgres/signalbox',
  SIGNALBOX_CREDENTIAL_KEY: '0'.repeat(64),
  SIGNALBOX_CONTRACT_KEY: generateKeyPairSync('ed25519')
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString(),
}

/** Fails on a variable that the service does not know, or a value that it refuses. */
export function assertSettings(variables: Variables): Settings {
  const known = listSettings(PLATFORM_SETTINGS).flatMap(([, { variable, isSecret }]) =>
    isSecret ? [variable, `${variable}_FILE`] : [variable],
  )
  const unknown = Object.keys(variables).filter(
    name => !known.includes(name) && !OTHER_VARIABLES.includes(name),
  )
  assert.deepEqual(unknown, [], 'settings that the service does not have')
  const given = Object.entries(variables).map(([name, value]) => {
    const secret = name.replace(/_FILE$/, '')
    if (secret === name) return [name, value]
    assert.ok(SECRETS[secret], `${name} needs an example here`)
    return [secret, SECRETS[secret]]
  })
  const settings = readSettings(Object.fromEntries(given), PLATFORM_SETTINGS)
  assert.deepEqual(settings.warnings, [])
  return settings
}

export function assertSimulatorSettings(variables: Variables): void {
  const unknown = Object.keys(variables).filter(name => !SIMULATOR_VARIABLES.includes(name))
  assert.deepEqual(unknown, [], 'settings that the simulator does not have')
  assert.ok(!('problem' in readSimulatorSettings(variables, [])))
}

/** Fails when `signalbox-server` has no such command. */
export async function assertCommand(argumentList: readonly string[]): Promise<void> {
  const exitCode = await runCommandLine([...argumentList, '--help'], {
    printStatus: () => {},
    printOutput: () => {},
    createContext: () => Promise.reject(new Error('--help needs no settings')),
    runUntilSignal: () => Promise.reject(new Error('--help starts nothing')),
  })
  assert.equal(exitCode, 0, argumentList.join(' '))
}

/** The documents of a YAML file, with merge keys. Fails on what YAML itself forbids. */
// biome-ignore lint/suspicious/noExplicitAny: the schemas check what is in them.
export function readYaml(path: string): any[] {
  return parseAllDocuments(readFileSync(join(ROOT, path), 'utf8'), { merge: true }).map(
    document => {
      assert.deepEqual([...document.errors, ...document.warnings], [], path)
      return document.toJS()
    },
  )
}

const KUBERNETES = 'deploy/kubernetes/vectors/kubernetes-1.37.json'
let kubernetes: Ajv2020 | undefined

/** Fails on an unknown member too, which the API of Kubernetes would drop. */
export function assertResource(resource: { apiVersion: string; kind: string }): void {
  kubernetes ??= new Ajv2020({ strict: false, validateFormats: false }).addSchema(
    JSON.parse(readFileSync(join(ROOT, KUBERNETES), 'utf8')),
    'kubernetes',
  )
  const [group, version] = resource.apiVersion.includes('/')
    ? resource.apiVersion.split('/')
    : ['core', resource.apiVersion]
  const name = `kubernetes#/$defs/io.k8s.api.${group}.${version}.${resource.kind}`
  const validate = kubernetes.getSchema(name)
  assert.ok(validate, `${resource.apiVersion} ${resource.kind}`)
  assert.ok(validate(resource), JSON.stringify(validate.errors, null, 2))
}
