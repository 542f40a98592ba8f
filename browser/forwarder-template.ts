import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where a same-origin forwarder can live, each with a file in browser/forwarders/. */
export const FORWARDER_KINDS = ['cloudflare-worker', 'nginx', 'next-route', 'express'] as const
export type ForwarderKind = (typeof FORWARDER_KINDS)[number]

export interface ForwarderOptions {
  /** The service's base URL, such as `https://signalbox.example/api/v1`. */
  baseUrl: string
  /** The forwarder's path in the shop, such as `/sb`; events come to `{path}/events`. */
  path: string
  /** Where the service serves the tag, from its root; then `{path}/tag.js` passes it on. */
  tagPath?: string | undefined
}

/**
 * The text of a forwarder of one kind, whole in one file, to be put into the shop. It holds no
 * secret. Throws a RangeError with a sentence about the argument that is wrong.
 */
export function renderForwarder(kind: ForwarderKind, place: ForwarderOptions): string {
  const { baseUrl, path, tagPath } = validateOptions(place)
  const tagUrl = tagPath === undefined ? '' : new URL(tagPath, baseUrl).href
  return readTemplate(kind, tagUrl !== '')
    .replaceAll('__BASE_URL__', baseUrl)
    .replaceAll('__PATH__', path)
    .replaceAll('__TAG_URL__', tagUrl)
}

/** Narrow, since these texts end up between quotes of a program and in a configuration. */
const BASE_URL = /^https?:\/\/(\[[\da-f:]+\]|[\w.-]+)(:\d+)?(\/[\w.~-]+)*$/
const PATH = /^(\/[\w.~-]+)+$/

function validateOptions(place: ForwarderOptions): ForwarderOptions {
  const baseUrl = place.baseUrl.replace(/\/$/, '')
  const path = place.path.replace(/\/$/, '')
  if (!BASE_URL.test(baseUrl)) {
    throw new RangeError('Give the base URL as https://signalbox.example/api/v1.')
  }
  if (!PATH.test(path)) throw new RangeError('Give the path in the shop as /sb.')
  if (place.tagPath !== undefined && !PATH.test(place.tagPath)) {
    throw new RangeError('Give the path of the tag at Signalbox as /tag.js.')
  }
  return { baseUrl, path, tagPath: place.tagPath }
}

function readTemplate(kind: ForwarderKind, withTag: boolean): string {
  if (kind === 'nginx') {
    const text = read('nginx.conf')
    return withTag ? text : text.replace(/\n# begin tag[\s\S]*# end tag\n/, '')
  }
  // One file to copy: what the templates have in common takes the place of its import.
  const own = read(`${kind}.ts`).replace("import { forward } from './forward.ts'\n", '')
  const inCommon = read('forward.ts').replaceAll(/^export /gm, '')
  return `${own.replace('\n\n\n', '\n\n')}\n${inCommon}`
}

function read(file: string): string {
  return readFileSync(join(import.meta.dirname, 'forwarders', file), 'utf8')
}
