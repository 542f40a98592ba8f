import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import { Refusal } from '../runtime/http/refusal.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import { readPathParameters } from '../runtime/http/validator.ts'
import { pageHeaders, servePages } from '../runtime/pages/serve-pages.ts'
import { forSignedIn, SIGNED_IN, type SignedInRequest } from '../workspaces/users/page-visit.ts'
import { requireRole } from '../workspaces/users/workspaces.ts'
import type { DashboardContext } from './dashboard-context.ts'

const FOLDER = join(
  dirname(fileURLToPath(import.meta.resolve('@signalbox/dashboard/package.json'))),
  'dist',
)
const ASSETS_PATH = '/dashboard-assets/'
const NONCE_PLACE = '__STYLE_NONCE__'
const NONCE_BYTES = 16

/**
 * The React app: one document for every page below /w/:workspace, for members of the workspace, and
 * its scripts and styles, which browsers may keep because their names change with their content.
 */
export function appRoutes(app: ServiceApp, context: DashboardContext): void {
  app.register(async pages => {
    servePages(pages, context.publicOrigin)
    const handler = forSignedIn(context, visit => sendDocument(context, visit))
    pages.get('/w/:workspace', SIGNED_IN, handler)
    pages.get('/w/:workspace/*', SIGNED_IN, handler)
  })
  app.register(async assets => {
    assets.register(fastifyStatic, {
      root: FOLDER,
      serve: false,
      preCompressed: true,
      immutable: true,
      maxAge: '365d',
    })
    assets.get(`${ASSETS_PATH}*`, { config: { credential: 'none' } }, (request, reply) => {
      const { '*': name } = readPathParameters(request.params, '*')
      if (!/^[\w-]+\.(js|css)$/.test(name)) throw Refusal.notFound('There is no such file.')
      return reply.sendFile(name)
    })
  })
}

/** A stranger gets the same 404 as for a workspace that does not exist. */
async function sendDocument(
  { database }: DashboardContext,
  { user, request, reply }: SignedInRequest,
): Promise<unknown> {
  const { workspace: workspaceId } = readPathParameters(request.params, 'workspace')
  await requireRole(database, user, { workspaceId, action: 'read' })
  const styleNonce = randomBytes(NONCE_BYTES).toString('base64')
  for (const [name, value] of Object.entries(pageHeaders({ app: { styleNonce } }))) {
    reply.header(name, value)
  }
  return readDocument().replace(NONCE_PLACE, styleNonce)
}

let document: string | null = null

/** Read when it is first asked for, so that a service that shows no pages needs no build. */
function readDocument(): string {
  try {
    document ??= readFileSync(join(FOLDER, 'index.html'), 'utf8')
    return document
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const message = 'The dashboard is not built. Run `npm run dashboard:build` and reload.'
    throw Refusal.unavailable(message, 60)
  }
}
