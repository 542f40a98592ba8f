import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { formatDocument } from '@signalbox/contract/print-openapi.ts'
import { type ContractKeys, publicKeySet } from '@signalbox/contract/signing-key.ts'
import type { ServiceApp } from '../http/service-app.ts'
import {
  createSignedContract,
  formatSecurityTxt,
  isEtagMatch,
  type TextWithEtag,
  withEtag,
} from './published-documents.ts'

interface DocumentRoutesContext {
  contractKeys: ContractKeys
  /** Where to report a vulnerability; without it, there is no security.txt. */
  securityContact: string | undefined
  now: () => Date
  publicOrigin: () => string
}

/** Public, cacheable and readable by any page. */
const PUBLIC_HEADERS = {
  'cache-control': 'public, max-age=300',
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, Request-Id',
  'cross-origin-resource-policy': 'cross-origin',
} as const

/** Guides for agents. */
const AGENT_DOCUMENTS = [
  { url: '/auth.md', type: 'text/markdown; charset=utf-8', file: 'auth.md' },
  { url: '/llms.txt', type: 'text/plain; charset=utf-8', file: 'llms.txt' },
]
const TEXT_FOLDER = join(import.meta.dirname, 'texts')

/** Inserts the addresses of this installation, never the Host header of a request. */
function fillAddresses(text: string, origin: string): string {
  return text.replaceAll('{site_origin}', origin).replaceAll('{base_url}', `${origin}${BASE_PATH}`)
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** The published documents, at the origin and not below the base path. */
export function documentRoutes(app: ServiceApp, context: DocumentRoutesContext): void {
  const { contractKeys, securityContact: contact, now, publicOrigin } = context
  const contract = createSignedContract(contractKeys.current)
  serveDocument(app, {
    url: '/openapi.json',
    type: JSON_TYPE,
    read: () => contract(publicOrigin()),
  })
  const keys = withEtag(formatDocument(publicKeySet(contractKeys)))
  serveDocument(app, { url: '/.well-known/jwks.json', type: JSON_TYPE, read: () => keys })
  for (const { url, type, file } of AGENT_DOCUMENTS) {
    const text = readFileSync(join(TEXT_FOLDER, file), 'utf8')
    serveDocument(app, { url, type, read: () => withEtag(fillAddresses(text, publicOrigin())) })
  }
  if (contact === undefined) return
  serveDocument(app, {
    url: '/.well-known/security.txt',
    type: 'text/plain; charset=utf-8',
    read: () => withEtag(formatSecurityTxt({ contact, origin: publicOrigin(), at: now() })),
  })
}

interface ServedDocument {
  url: string
  type: string
  read: () => TextWithEtag | Promise<TextWithEtag>
}

/** GET and, by Fastify, HEAD. Replies 304 when the caller already has these bytes. */
function serveDocument(app: ServiceApp, { url, type, read }: ServedDocument): void {
  app.get(url, { config: { credential: 'none' } }, async ({ headers }, reply) => {
    const { text, etag } = await read()
    reply.headers({ ...PUBLIC_HEADERS, etag })
    if (isEtagMatch(headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type(type).send(text)
  })
}
