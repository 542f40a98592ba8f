import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { printedDocument } from '@signalbox/contract/print-openapi.ts'
import { type ContractKeys, publicKeySet } from '@signalbox/contract/signing-key.ts'
import type { ServiceApp } from '../http/service-app.ts'
import { securityText } from './security-text.ts'
import { signedContract } from './signed-contract.ts'
import { isHeldBy, type TaggedText, taggedText } from './tagged-text.ts'

export interface DocumentRoutes {
  contractKeys: ContractKeys
  /** Where holes are reported; without it there is no security.txt, rather than a made-up one. */
  securityContact: string | undefined
  now: () => Date
  publicOrigin: () => string
}

/** What anybody may read, keep for a while and show in a page of their own. */
const PUBLIC_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Request-Id',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** What an installation says to agents (decisions, section 11). */
const TEXTS = [
  { url: '/auth.md', type: 'text/markdown; charset=utf-8', file: 'auth.md' },
  { url: '/llms.txt', type: 'text/plain; charset=utf-8', file: 'llms.txt' },
]
const TEXT_FOLDER = join(import.meta.dirname, 'texts')

/** With the addresses of this installation, whatever Host a caller writes. */
function addressed(text: string, origin: string): string {
  return text.replaceAll('{site_origin}', origin).replaceAll('{base_url}', `${origin}${BASE_PATH}`)
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** What the installation says about itself, at its origin and not below the base path. */
export function documentRoutes(app: ServiceApp, context: DocumentRoutes): void {
  const { contractKeys, securityContact: contact, now, publicOrigin } = context
  const contract = signedContract(contractKeys.current)
  serve(app, {
    url: '/openapi.json',
    type: JSON_TYPE,
    read: () => contract(publicOrigin()),
  })
  const keys = taggedText(printedDocument(publicKeySet(contractKeys)))
  serve(app, { url: '/.well-known/jwks.json', type: JSON_TYPE, read: () => keys })
  for (const { url, type, file } of TEXTS) {
    const text = readFileSync(join(TEXT_FOLDER, file), 'utf8')
    serve(app, { url, type, read: () => taggedText(addressed(text, publicOrigin())) })
  }
  if (contact === undefined) return
  serve(app, {
    url: '/.well-known/security.txt',
    type: 'text/plain; charset=utf-8',
    read: () => taggedText(securityText({ contact, origin: publicOrigin(), at: now() })),
  })
}

interface ServedText {
  url: string
  type: string
  read: () => TaggedText | Promise<TaggedText>
}

/** GET and, by Fastify, HEAD: 304 without a body to whoever has these bytes. */
function serve(app: ServiceApp, { url, type, read }: ServedText): void {
  app.get(url, { config: { credential: 'none' } }, async ({ headers }, reply) => {
    const { text, etag } = await read()
    reply.headers({ ...PUBLIC_HEADERS, etag })
    if (isHeldBy(headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type(type).send(text)
  })
}
