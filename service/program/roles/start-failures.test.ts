import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import {
  createDatabaseFromTemplate,
  createTestDatabase,
  databaseUrl,
} from '../../../testing/fixtures/database.ts'
import { listen } from '../../../testing/fixtures/listen.ts'
import { createInstallation, DEFAULT_HTTP_WORKERS } from '../../../testing/fixtures/program.ts'
import { PLUG_INS_WITH_ADDRESS } from '../../signals/platforms/plug-ins.ts'

/** Where each platform but the first one is. */
const OTHER_ADDRESSES = PLUG_INS_WITH_ADDRESS.slice(1).map(
  ({ address, productionUrl, label }) => `${address.variable}: ${productionUrl} for ${label}, or `,
)

interface Refusal {
  line: string
  environment?: Record<string, string>
  message: string | RegExp
}

const COMMANDS =
  'all, serve, deliver, migrate, provision, destination, credential, routing, key, tracker, ' +
  'people, client, ' +
  'report, export, audit, doctor, campaigns'
const NO_STORE =
  /^No PostgreSQL runs on \S+: start "signalbox-server all" first, or set DATABASE_URL\.$/

const REFUSALS: Record<string, Refusal> = {
  'an unknown command': {
    line: 'server',
    message: `There is no command server; use one of ${COMMANDS}.`,
  },
  'a command named like a member of every object': {
    line: 'constructor',
    message: `There is no command constructor; use one of ${COMMANDS}.`,
  },
  'an unknown option': {
    line: 'all --port=80',
    message:
      'all takes no arguments, not --port=80: settings are environment variables, such as ' +
      'PORT=8080.',
  },
  'an unknown argument': {
    line: 'migrate down',
    message: /^migrate takes no arguments, not down: /,
  },
  'an unknown subcommand': {
    line: 'key show',
    message: 'There is no command show of key; use one of list, issue, revoke.',
  },
  'an unknown option of a subcommand': {
    line: 'key list --tracker 1 --all',
    message: 'key list takes --tracker <id>, not --all.',
  },
  'an invalid setting': {
    line: 'all',
    environment: { PORT: 'http' },
    message: 'PORT must be a whole number from 0 to 65535, not "http".',
  },
  'a proxy that is not an address': {
    line: 'all',
    environment: { SIGNALBOX_TRUSTED_PROXIES: 'proxy.internal' },
    message:
      'SIGNALBOX_TRUSTED_PROXIES must be addresses or ranges such as 10.0.0.0/8, 192.0.2.7, ' +
      'not "proxy.internal".',
  },
  'deliver without a platform': {
    line: 'deliver',
    message:
      'Set SIGNALBOX_PLATFORM_URL for deliver: https://graph.facebook.com for Meta, or ' +
      OTHER_ADDRESSES.join('') +
      'http://127.0.0.1:3001 for the simulator, which "npm run simulator" starts.',
  },
  'serve without a store': { line: 'serve', message: NO_STORE },
  'provision without a store': {
    line: 'provision --without-owner --out /nowhere/x.json',
    message: NO_STORE,
  },
  'credential without a store': { line: 'credential list', message: NO_STORE },
  'a token file that does not exist, before anything is created': {
    line: 'provision --without-owner --out /nowhere/x.json --dataset 123 --token-from /nowhere/token',
    message: 'The token cannot be read from /nowhere/token (ENOENT).',
  },
  'a token among the arguments': {
    line: 'provision --without-owner --out /nowhere/x.json --dataset 123 --token=hidden',
    message: /^Do not pass a token as an argument, because [^\n]+: put it into a file, [^\n]+\.$/,
  },
  'half of a social client': {
    line: 'all',
    environment: { SIGNALBOX_GOOGLE_CLIENT_ID: 'id' },
    message: 'Set both SIGNALBOX_GOOGLE_CLIENT_ID and SIGNALBOX_GOOGLE_CLIENT_SECRET, or neither.',
  },
  'an invalid mail server, without its password': {
    line: 'all',
    environment: { SIGNALBOX_MAIL_URL: 'https://user:hidden@mail.example' },
    message:
      'SIGNALBOX_MAIL_URL must be an smtp:// or smtps:// address such as ' +
      'smtps://user:password@mail.example.',
  },
  'a store address of another scheme, without its password': {
    line: 'serve',
    environment: { DATABASE_URL: 'http://jane:hidden@127.0.0.1:9/signalbox' },
    message: 'DATABASE_URL must be a URL such as postgres://user:password@host:5432/database.',
  },
  'a store that does not run, without its password': {
    line: 'serve',
    environment: { DATABASE_URL: 'postgres://jane:hidden@127.0.0.1:9/signalbox' },
    message: 'No PostgreSQL listens where DATABASE_URL points, at 127.0.0.1:9 (ECONNREFUSED).',
  },
}

describe('a start that cannot succeed', { concurrency: true }, () => {
  for (const [title, { line, environment, message }] of Object.entries(REFUSALS)) {
    it(`explains in one sentence and leaves nothing behind: ${title}`, async test => {
      const { dataFolder } = createDataFolder(test)
      const { code, stdout, stderr } = await runCommand(line.split(' '), {
        environment: {
          SIGNALBOX_DATA_DIR: dataFolder,
          SIGNALBOX_HTTP_WORKERS: '0',
          ...environment,
        },
      })
      assert.deepEqual([code, stdout], [1, ''])
      if (typeof message === 'string') assert.equal(stderr, `${message}\n`)
      else assert.match(stderr.slice(0, -1), message)
      assert.equal(existsSync(dataFolder), false)
    })
  }

  it('exits with 1 and prints the sentence to standard error', async test => {
    const program = createInstallation(test).start({ role: 'deliver' })
    assert.deepEqual(await program.exited, { code: 1, signal: null })
    assert.match(program.stderr(), /^Set SIGNALBOX_PLATFORM_URL for deliver: [^\n]+\.\n$/)
    assert.equal(program.stdout(), '')
  })

  it('tells a store that refuses the login from one that has no such database', async test => {
    const known = await createDatabaseFromTemplate(test, 'template0')
    const wrongPassword = new URL(known)
    wrongPassword.password = 'hidden'
    const server = `at 127.0.0.1:${wrongPassword.port}`
    const serve = async (url: string) => {
      const environment = { DATABASE_URL: url, SIGNALBOX_HTTP_WORKERS: '0' }
      const { code, stderr } = await runCommand(['serve'], { environment })
      assert.equal(code, 1)
      return stderr
    }
    assert.equal(
      await serve(wrongPassword.href),
      `The user or the password in DATABASE_URL is refused by the PostgreSQL ${server} (28P01): ` +
        `password authentication failed for user "${wrongPassword.username}".\n`,
    )
    assert.equal(
      await serve(databaseUrl('nowhere')),
      `The database in DATABASE_URL does not exist in the PostgreSQL ${server} (3D000): ` +
        'database "nowhere" does not exist.\n',
    )
  })

  it('waits for a store that does not answer the first connection', async test => {
    const { connectionString } = await createTestDatabase(test)
    const { url, connections } = await ignoreFirstConnection(test, connectionString)
    const { dataFolder } = createDataFolder(test)
    const { code, stdout, stderr } = await runCommand(['serve'], {
      environment: {
        DATABASE_URL: url,
        PORT: '0',
        SIGNALBOX_DATA_DIR: dataFolder,
        SIGNALBOX_HTTP_WORKERS: '0',
      },
    })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /"PostgreSQL has not answered yet; trying again"/)
    assert.ok(connections() > 1)
  })

  it('names the method of the sign-in library that could store tokens as they are', async test => {
    const { connectionString } = await createTestDatabase(test)
    const place = createInstallation(test)
    mkdirSync(place.dataFolder)
    const path = join(place.dataFolder, 'later-library.mjs')
    writeFileSync(path, LATER_LIBRARY)
    const environment = { NODE_OPTIONS: `--import ${path}`, DATABASE_URL: connectionString }
    const program = place.start({ role: 'serve', environment })
    assert.deepEqual(await program.exited, { code: 1, signal: null })
    assert.equal(
      program.stderr(),
      'The adapter of better-auth has methods that could store session tokens as they are: ' +
        'upsert. Install the versions of the lockfile.\n',
    )
    assert.doesNotMatch(program.stdout(), /"Server listening/)
  })

  it('ends the store that it started when the port is taken', async test => {
    const other = createServer().listen({ host: '127.0.0.1', port: 0 })
    test.after(() => other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const place = createInstallation(test)
    const program = place.start({
      environment: { ...DEFAULT_HTTP_WORKERS, PORT: String(port) },
    })
    assert.deepEqual(await program.exited, { code: 1, signal: null })
    assert.equal(
      program.stderr(),
      `Port ${port} on 127.0.0.1 is taken by another program: set PORT to a free one.\n`,
    )
    assert.equal(place.postgresProcessId(), null)
    assert.equal(existsSync(join(place.dataFolder, 'owner.json')), false)
    assert.equal(existsSync(join(place.dataFolder, 'credentials.json')), false)
  })

  it('refuses a configured metrics port that is taken', async test => {
    const other = createServer().listen({ host: '127.0.0.1', port: 0 })
    test.after(() => other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const place = createInstallation(test)
    const environment = { SIGNALBOX_METRICS_PORT: String(port) }
    const program = place.start({ environment })
    assert.deepEqual(await program.exited, { code: 1, signal: null })
    assert.equal(
      program.stderr(),
      `Port ${port} on 127.0.0.1 is taken by another program: ` +
        'set SIGNALBOX_METRICS_PORT to a free one.\n',
    )
    assert.equal(place.postgresProcessId(), null)
  })

  it('refuses a truncated key file and does not replace it', async test => {
    const place = createInstallation(test)
    const path = join(place.dataFolder, 'credential-key')
    mkdirSync(place.dataFolder, { mode: 0o755 })
    writeFileSync(path, 'abc')
    const program = place.start()
    assert.deepEqual(await program.exited, { code: 1, signal: null })
    assert.equal(
      program.stderr(),
      `${path} does not hold a key of 32 bytes: restore it from a backup.\n`,
    )
    assert.equal(place.postgresProcessId(), null)
  })
})

/** Preloaded in every thread: a version of the library whose adapter has one method more. */
const LATER_LIBRARY = `
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (!url.endsWith('/better-auth/dist/db/adapter-kysely.mjs')) return loaded
    const source = String(loaded.source).replace('export { getAdapter }', '')
    const later = 'export const later = async options => ' +
      '({ ...(await getAdapter(options)), upsert: async () => null });' +
      'export { later as getAdapter };'
    return { ...loaded, source: source + later }
  },
})
`

/** A store behind a network that swallows what the first connection sends. */
async function ignoreFirstConnection(test: TestContext, connectionString: string) {
  const url = new URL(connectionString)
  const storePort = Number(url.port)
  let connections = 0
  const server = createServer(client => {
    connections += 1
    client.on('error', () => {})
    if (connections === 1) return void client.resume()
    const upstream = connect(storePort, '127.0.0.1').on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  })
  url.port = String(await listen(test, server))
  return { url: url.href, connections: () => connections }
}
