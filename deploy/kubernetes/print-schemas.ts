import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `node deploy/kubernetes/print-schemas.ts _definitions.json` writes the part of Kubernetes' own
 * definitions that the manifests use. They come from the package kubernetes-validate of PyPI
 * (vectors/SOURCE.md). An unknown member is an error, because the API drops it without one.
 */
const PATH = join(import.meta.dirname, 'vectors/kubernetes-1.37.json')
const KINDS = [
  'io.k8s.api.apps.v1.Deployment',
  'io.k8s.api.batch.v1.Job',
  'io.k8s.api.core.v1.ConfigMap',
  'io.k8s.api.core.v1.Service',
  'io.k8s.api.core.v1.ServiceAccount',
  'io.k8s.api.policy.v1.PodDisruptionBudget',
]
const REFERENCE = '#/$defs/'

type Definition = Record<string, unknown> & { properties?: Record<string, unknown> }
type Definitions = Record<string, Definition>

function selectDefinitions(definitions: Definitions): Definitions {
  const selected: Definitions = {}
  const pending = [...KINDS]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (selected[name] !== undefined) continue
    const definition = definitions[name]
    if (definition === undefined) throw new Error(`There is no definition of ${name}.`)
    const shortened = shorten(definition) as Definition
    selected[name] = shortened.properties
      ? { ...shortened, additionalProperties: false }
      : shortened
    pending.push(...listReferences(shortened))
  }
  return Object.fromEntries(Object.entries(selected).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Without descriptions, and with references into the same file. */
function shorten(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map(each => shorten(each))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(
    ([name]) => isMap || (name !== 'description' && !name.startsWith('x-kubernetes-')),
  )
  return Object.fromEntries(
    members.map(([name, member]) => {
      if (!isMap && name === '$ref') return [name, `${REFERENCE}${String(member).split('/').pop()}`]
      return [name, shorten(member, !isMap && name === 'properties')]
    }),
  )
}

function listReferences(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' && typeof member === 'string'
      ? [member.slice(REFERENCE.length)]
      : listReferences(member),
  )
}

if (import.meta.main) {
  const { $defs: definitions } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
  const selected = { $defs: selectDefinitions(definitions) }
  writeFileSync(PATH, `${JSON.stringify(selected)}\n`)
}
