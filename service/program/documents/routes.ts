import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatDocument } from '@signalbox/contract/print-openapi.ts'
import { type ContractKeys, publicKeySet } from '@signalbox/contract/signing-key.ts'
import type { ServiceApp } from '../../runtime/http/service-app.ts'
import type { Settings } from '../../runtime/settings/settings.ts'
import { docsRoutes, type FillText, requireDocs } from './docs-routes.ts'
import {
  createSignedContract,
  fillAddresses,
  formatSecurityTxt,
  isEtagMatch,
  joinPagesForAgents,
  listPagesForAgents,
  PUBLIC_HEADERS,
  type TextWithEtag,
  withEtag,
} from './published-documents.ts'

export interface DocumentsContext {
  contractKeys: ContractKeys
  /** Without a contact, there is no security.txt. */
  settings: Pick<Settings, 'securityContact'>
  now: () => Date
  publicOrigin: () => string
}

const TEXT_FOLDER = join(import.meta.dirname, 'texts')
const TEXT_TYPE = 'text/plain; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** The published documents, at the origin and not below the base path. */
export function documentRoutes(app: ServiceApp, context: DocumentsContext): void {
  const { contractKeys, settings, now, publicOrigin } = context
  const contract = createSignedContract(contractKeys.current)
  serveDocument(app, {
    url: '/openapi.json',
    type: JSON_TYPE,
    read: () => contract(publicOrigin()),
  })
  const keys = withEtag(formatDocument(publicKeySet(contractKeys)))
  serveDocument(app, { url: '/.well-known/jwks.json', type: JSON_TYPE, read: () => keys })
  const fill = createFiller(publicOrigin)
  serveAgentGuides(app, fill)
  docsRoutes(app, fill)
  const contact = settings.securityContact
  if (contact === undefined) return
  serveDocument(app, {
    url: '/.well-known/security.txt',
    type: TEXT_TYPE,
    read: () => withEtag(formatSecurityTxt({ contact, origin: publicOrigin(), at: now() })),
  })
}

/** What programs read first: how to get access, what there is, and all of the documentation. */
function serveAgentGuides(app: ServiceApp, fill: FillText): void {
  const [access, index] = ['auth.md', 'llms.txt'].map(file =>
    readFileSync(join(TEXT_FOLDER, file), 'utf8'),
  )
  serveDocument(app, {
    url: '/auth.md',
    type: 'text/markdown; charset=utf-8',
    read: () => fill('/auth.md', () => access ?? ''),
  })
  serveDocument(app, {
    url: '/llms.txt',
    type: TEXT_TYPE,
    read: () => fill('/llms.txt', () => `${index}${listPagesForAgents(requireDocs())}`),
  })
  serveDocument(app, {
    url: '/llms-full.txt',
    type: TEXT_TYPE,
    read: () => fill('/llms-full.txt', () => joinPagesForAgents(requireDocs())),
  })
}

/** The origin is known when the port is, so each text is filled when it is first read. */
function createFiller(publicOrigin: () => string): FillText {
  const filled = new Map<string, TextWithEtag>()
  return (key, text) => {
    const known = filled.get(key)
    if (known) return known
    const document = withEtag(fillAddresses(text(), publicOrigin()))
    filled.set(key, document)
    return document
  }
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
