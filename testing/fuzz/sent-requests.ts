import { forwardingHeaders } from '../forwarding-headers.ts'
import { CANARY } from './canaries.ts'
import { type FuzzCast, presented } from './fuzz-cast.ts'
import type { FuzzRequest } from './fuzz-requests.ts'
import type { HeaderLines } from './hostile-heads.ts'
import { OWN_PLACES, SECOND_DESTINATION } from './hostile-targets.ts'
import type { SentRequest } from './kept-connections.ts'

const LINE_CHARACTERS_MAX = 2_000

/** The request as this cast sends it at this time. */
export function sentRequest(request: FuzzRequest, cast: FuzzCast, at: Date): SentRequest {
  const { authorization, queryKey } = presented(cast, request.credential)
  const path = filled(request.path, cast)
  const query = [request.query, queryKey && `key=${queryKey}`].filter(Boolean).join('&')
  const headers: HeaderLines = {
    ...request.headers,
    ...(authorization === null ? {} : { authorization }),
    ...(request.isSigned ? signature(request, cast, at) : {}),
  }
  const target = writable(query === '' ? path : `${path}?${query}`)
  return { method: request.method, target, headers, body: request.body }
}

/** With the ids of the cast. */
function filled(path: string, { own, second, agent }: FuzzCast): string {
  const ids: Record<string, string> = { destination: own.destinationId, ...agent.ids }
  const places = Object.entries(OWN_PLACES).map(
    ([name, place]) => [place, ids[name] ?? ''] as const,
  )
  return [...places, [SECOND_DESTINATION, second.destinationId] as const].reduce(
    (written, [place, id]) => written.replaceAll(place, id),
    path,
  )
}

function signature({ body }: FuzzRequest, { own }: FuzzCast, at: Date): HeaderLines {
  const { ipAddress: clientIp, userAgent } = CANARY
  const secret = own.forwardingSecret
  return forwardingHeaders({ secret, body: body ?? '', at, clientIp, userAgent })
}

/** Other bytes are no HTTP; what answers those is tested in `http/broken-requests.test.ts`. */
function writable(target: string): string {
  return target.replaceAll(/[^!-~]/gu, character => encodeURI(character.toWellFormed()))
}

/** One line with which a person sends it again; credentials stand in it by name only. */
export function curlLine({ method, credential, isSigned }: FuzzRequest, sent: SentRequest): string {
  const lines = Object.entries(sent.headers)
    .filter(([name]) => name !== 'authorization')
    .flatMap(([name, values]) => [values].flat().map(value => `-H ${quoted(`${name}: ${value}`)}`))
  const target = quoted(sent.target.replaceAll(/sbx_\w+/g, 'KEY'))
  const body = sent.body === null ? '' : ` --data-binary ${quoted(sent.body.toString('latin1'))}`
  const signed = isSigned ? ', signed' : ''
  return `curl -X ${method} ${target} ${lines.join(' ')} (as ${credential}${signed})${body}`
}

/** As bash reads it: every byte that is not plain is written out. */
function quoted(text: string): string {
  const escaped = text
    .slice(0, LINE_CHARACTERS_MAX)
    .replaceAll(/[\\']/g, '\\$&')
    .replaceAll(/[^\x20-\x7e]/g, character =>
      character.charCodeAt(0) < 256
        ? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
  const rest = text.length > LINE_CHARACTERS_MAX ? ` (${text.length} bytes in all)` : ''
  return `$'${escaped}'${rest}`
}
