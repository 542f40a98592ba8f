import { createRequire } from 'node:module'
import type { Enum, Field, Root, Type } from 'protobufjs'

/**
 * The message types that Google ships, for tests only. They are older than the API: what is sent is
 * checked strictly, and of an answer, members that they do not know are left out of the check.
 */
const fromHere = createRequire(import.meta.url)
const fromPackage = createRequire(fromHere.resolve('@google-ads/datamanager'))
const fromRuntime = createRequire(fromPackage.resolve('google-gax'))
const { Root: ProtoRoot, Type: ProtoType }: typeof import('protobufjs') = fromRuntime('protobufjs')
const serializer: {
  fromProto3JSON(type: Type, json: unknown): unknown
  toProto3JSON(message: unknown): unknown
} = fromRuntime('proto3-json-serializer')

const root: Root = ProtoRoot.fromJSON(
  fromPackage('@google-ads/datamanager/build/protos/protos.json'),
)

export type GoogleMessage =
  | 'IngestEventsRequest'
  | 'IngestEventsResponse'
  | 'RetrieveRequestStatusResponse'

/** What Google's own types read in a JSON text, as JSON again. Throws when they cannot read it. */
export function readWithGoogleTypes(name: GoogleMessage, json: unknown): unknown {
  const type = root.lookupType(`google.ads.datamanager.v1.${name}`)
  return serializer.toProto3JSON(serializer.fromProto3JSON(type, json))
}

/**
 * The paths of members and enum values that Google's types do not have. Their parser ignores them,
 * so this walks over the keys.
 */
export function findUnknownMembers(name: GoogleMessage, json: unknown): string[] {
  return walkMessage(root.lookupType(`google.ads.datamanager.v1.${name}`), json, '')
}

function walkMessage(type: Type, json: unknown, path: string): string[] {
  return Object.entries(json as Record<string, unknown>).flatMap(([name, value]) => {
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined
    const place = path === '' ? name : `${path}.${name}`
    if (field === undefined) return [place]
    const values = field.repeated ? (value as unknown[]) : [value]
    return values.flatMap(one => walkValue(field, one, place))
  })
}

function walkValue(field: Field, value: unknown, path: string): string[] {
  const { resolvedType } = field.resolve()
  if (resolvedType instanceof ProtoType) {
    // A timestamp is a text in JSON.
    return typeof value === 'object' ? walkMessage(resolvedType, value, path) : []
  }
  const values = (resolvedType as Enum | null)?.values
  return values === undefined || Object.hasOwn(values, String(value)) ? [] : [path]
}
