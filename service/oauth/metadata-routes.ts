import type { ServiceApp } from '../http/service-app.ts'
import { OAUTH_PATHS, resourceMetadata, serverMetadata } from './metadata.ts'
import type { OauthContext } from './oauth-context.ts'
import { OPEN_TO_PAGES, preflightHeaders } from './oauth-shape.ts'
import { AUDIENCES, resourceMetadataPath } from './resources.ts'

/** The well-known documents, for programs and for pages of any origin. */
export function metadataRoutes(
  app: ServiceApp,
  { publicOrigin }: Pick<OauthContext, 'publicOrigin'>,
): void {
  serve(app, OAUTH_PATHS.serverMetadata, () => serverMetadata(publicOrigin()))
  for (const audience of AUDIENCES) {
    serve(app, resourceMetadataPath(audience), () => resourceMetadata(publicOrigin(), audience))
  }
}

const CACHED = { ...OPEN_TO_PAGES, 'cache-control': 'public, max-age=300' }

function serve(app: ServiceApp, url: string, read: () => object): void {
  const config = { credential: 'none' } as const
  app.get(url, { config }, async (_request, reply) => reply.headers(CACHED).send(read()))
  app.options(url, { config }, async (_request, reply) =>
    reply
      .code(204)
      .headers({ ...OPEN_TO_PAGES, ...preflightHeaders(['GET']) })
      .send(),
  )
}
