import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { it, type TestContext } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { Provider } from 'oidc-provider'
import { listen } from '../../../../testing/fixtures/listen.ts'
import { PageClient } from '../../../../testing/fixtures/page-client.ts'
import { startTestService } from '../../../../testing/fixtures/service.ts'

/**
 * oidc-provider, which is certified by the OpenID Foundation, signs Ada in at once. It puts her
 * address into its userinfo endpoint and not into the ID token. Its clock is the machine's.
 */
async function startCertifiedProvider(test: TestContext) {
  const server = createServer((request, response) => handle(request, response))
  const port = await listen(test, server)
  const issuer = `http://127.0.0.1:${port}`
  const keys = await generateKeyPair('RS256', { extractable: true })
  const clients: { redirect_uris: string[] }[] = [{ redirect_uris: [] }]
  let handle: ReturnType<Provider['callback']> = async () => {}
  return {
    issuer,
    /** Once the address of the service is known. */
    open: async (serviceUrl: string) => {
      clients[0]?.redirect_uris.push(`${serviceUrl}/auth/callback/oidc`)
      const provider = new Provider(issuer, {
        clients: clients.map(client => ({
          ...client,
          client_id: 'signalbox',
          client_secret: 'secret-of-the-client',
        })),
        jwks: { keys: [await exportJWK(keys.privateKey)] },
        cookies: { keys: ['a-key-of-the-test'] },
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
        features: { devInteractions: { enabled: false } },
        interactions: { url: () => '/sign-in-ada' },
        findAccount: (_, accountId) => ({
          accountId,
          claims: async () => ({
            sub: accountId,
            email: 'ada@shop.example',
            email_verified: true,
            name: 'Ada',
          }),
        }),
      })
      provider.use(async (ctx, next) => {
        if (ctx.path !== '/sign-in-ada') return next()
        const { req, res } = ctx
        const { grantId: known } = await provider.interactionDetails(req, res)
        const grant = (known && (await provider.Grant.find(known))) || new provider.Grant()
        grant.accountId = 'ada'
        grant.clientId = 'signalbox'
        grant.addOIDCScope('openid email profile')
        const grantId = await grant.save()
        ctx.respond = false
        await provider.interactionFinished(req, res, {
          login: { accountId: 'ada' },
          consent: { grantId },
        })
      })
      handle = provider.callback()
    },
  }
}

/** Follows the redirects of the provider until they lead back to the service. */
async function leadBack(start: string, serviceUrl: string): Promise<string> {
  const cookies = new Map<string, string>()
  let url = start
  for (let hop = 0; hop < 10 && !url.startsWith(serviceUrl); hop += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    url = new URL(response.headers.get('location') ?? '', url).href
  }
  return url.replace(serviceUrl, '')
}

it('signs in and confirms at a certified OpenID provider', async test => {
  const provider = await startCertifiedProvider(test)
  const oidc = { issuer: provider.issuer, domains: ['shop.example'] }
  const startAt = new Date().toISOString()
  const service = await startTestService(test, { oidc, startAt })
  await provider.open(service.url)
  const browser = new PageClient(service.url)
  const pass = async (path: string) => {
    await browser.get(path)
    return browser.get(await leadBack(browser.page?.redirects.at(-1) ?? '', service.url))
  }
  assert.equal((await pass('/sign-in/oidc?return_to=%2Faccount')).path, '/account')
  const { body } = await browser.call('GET', '/browser/me')
  assert.deepEqual([body.email, body.name], ['ada@shop.example', 'Ada'])
  assert.equal((await pass('/account/confirm/oidc?return_to=%2Faccount')).path, '/account')
  assert.equal((await browser.call('GET', '/browser/me')).body.is_identity_confirmed, true)
})
