import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The kinds of same-origin forwarder, each with a template in browser/forwarders/. */
export const FORWARDER_KINDS = ['cloudflare-worker', 'nginx', 'next-route', 'express'] as const
export type ForwarderKind = (typeof FORWARDER_KINDS)[number]

export interface ForwarderOptions {
  /** The service's base URL, such as `https://signalbox.example/api/v1`. */
  baseUrl: string
  /** The forwarder's path in the shop, such as `/sb`; events arrive at `{path}/events`. */
  path: string
  /** The path of the tag at the service; if set, the forwarder serves it at `{path}/tag.js`. */
  tagPath?: string | undefined
}

/**
 * The source of a forwarder as a single file to add to the shop. It contains no secret. Throws a
 * RangeError that describes an invalid argument.
 */
export function renderForwarder(kind: ForwarderKind, options: ForwarderOptions): string {
  const { baseUrl, path, tagPath } = validateOptions(options)
  const tagUrl = tagPath === undefined ? '' : new URL(tagPath, baseUrl).href
  return readTemplate(kind, tagUrl !== '')
    .replaceAll('__BASE_URL__', baseUrl)
    .replaceAll('__PATH__', path)
    .replaceAll('__TAG_URL__', tagUrl)
}

/** Restrictive, because these values end up in string literals and in a configuration file. */
const BASE_URL = /^https?:\/\/(\[[\da-f:]+\]|[\w.-]+)(:\d+)?(\/[\w.~-]+)*$/
const PATH = /^(\/[\w.~-]+)+$/

function validateOptions(options: ForwarderOptions): ForwarderOptions {
  const baseUrl = options.baseUrl.replace(/\/$/, '')
  const path = options.path.replace(/\/$/, '')
  if (!BASE_URL.test(baseUrl)) {
    throw new RangeError('Give the base URL as https://signalbox.example/api/v1.')
  }
  if (!PATH.test(path)) throw new RangeError('Give the path in the shop as /sb.')
  if (options.tagPath !== undefined && !PATH.test(options.tagPath)) {
    throw new RangeError('Give the path of the tag at Signalbox as /tag.js.')
  }
  return { baseUrl, path, tagPath: options.tagPath }
}

function readTemplate(kind: ForwarderKind, withTag: boolean): string {
  if (kind === 'nginx') {
    const text = read('nginx.conf').replace(/# begin events\n([\s\S]*)# end events\n/, addBatches)
    return withTag ? text : text.replace(/\n# begin tag[\s\S]*# end tag\n/, '')
  }
  // One file to copy: the shared code replaces its import.
  const own = read(`${kind}.ts`).replace("import { forward } from './forward.ts'\n", '')
  const shared = read('forward.ts').replaceAll(/^export /gm, '')
  return `${own.replace('\n\n\n', '\n\n')}\n${shared}`
}

/** An exact location forwards nothing else, so a batch has one of its own with the same rules. */
function addBatches(_marked: string, events: string): string {
  return `${events}\n${events.replaceAll(/(__PATH__|__BASE_URL__)\/events/g, '$&/batch')}`
}

function read(file: string): string {
  return readFileSync(join(import.meta.dirname, 'forwarders', file), 'utf8')
}
