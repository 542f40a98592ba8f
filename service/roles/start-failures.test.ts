import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createDatabaseFromTemplate, databaseUrl } from '../../testing/fixtures/database.ts'
import { createInstallation, type StartOptions } from '../../testing/fixtures/program.ts'

interface Refusal extends StartOptions {
  sentence: string | RegExp
}

const ROLES =
  'all, serve, deliver, migrate, provision, credential, key, client, people, report, audit, ' +
  'campaigns'
const PROVISION_USAGE =
  'Usage: npm run provision -- --out FILE [--name WORKSPACE] [--owner ADDRESS] ' +
  '[--origin ORIGIN]... [--dataset DIGITS --token-from FILE|-]\n'

const REFUSALS: Record<string, Refusal> = {
  'a role that does not exist': {
    role: 'server',
    sentence: `There is no role server; use one of ${ROLES}.\n`,
  },
  'a role named like a member that every object has': {
    role: 'constructor',
    sentence: `There is no role constructor; use one of ${ROLES}.\n`,
  },
  'an argument that nobody would read': {
    role: 'all',
    arguments: ['--port=80'],
    sentence:
      'The role all takes no arguments, not --port=80: settings are environment variables, ' +
      'such as PORT=8080.\n',
  },
  'an argument of a role that runs once': {
    role: 'migrate',
    arguments: ['down'],
    sentence: /^The role migrate takes no arguments, not down: [^\n]+\n$/,
  },
  'a wrong setting': {
    environment: { PORT: 'http' },
    sentence: 'PORT must be a whole number from 0 to 65535, not "http".\n',
  },
  'a proxy that is no address': {
    environment: { SIGNALBOX_TRUSTED_PROXIES: 'proxy.internal' },
    sentence:
      'SIGNALBOX_TRUSTED_PROXIES must be addresses or ranges such as 10.0.0.0/8, 192.0.2.7, ' +
      'not "proxy.internal".\n',
  },
  'a worker that does not know where to deliver': {
    role: 'deliver',
    sentence:
      'Set SIGNALBOX_PLATFORM_URL for the role deliver (Meta: https://graph.facebook.com).\n',
  },
  'a service without a store to join': {
    role: 'serve',
    sentence: /^No PostgreSQL runs on \S+: start "npm start" first, or set DATABASE_URL\.\n$/,
  },
  'a tracker without a store to keep it': {
    role: 'provision',
    arguments: ['--out', '/nowhere/credentials.json'],
    sentence: /^No PostgreSQL runs on \S+: start "npm start" first, or set DATABASE_URL\.\n$/,
  },
  'a tracker without a file for its secret': {
    role: 'provision',
    arguments: ['--name', 'Shop'],
    sentence: PROVISION_USAGE,
  },
  'a dataset without its token': {
    role: 'provision',
    arguments: ['--out', '/nowhere/credentials.json', '--dataset', '123'],
    sentence: PROVISION_USAGE,
  },
  'a token without its dataset': {
    role: 'provision',
    arguments: ['--out', '/nowhere/credentials.json', '--token-from', '-'],
    sentence: PROVISION_USAGE,
  },
  'a token file that is not there, before anything is made': {
    role: 'provision',
    arguments: ['--out', '/nowhere/x.json', '--dataset', '123', '--token-from', '/nowhere/token'],
    sentence: 'The token cannot be read from /nowhere/token (ENOENT).\n',
  },
  'a token among the arguments': {
    role: 'provision',
    arguments: ['--out', '/nowhere/x.json', '--dataset', '123', '--token=hidden'],
    sentence: /^A token is never an argument, because [^\n]+: put it into a file, [^\n]+\.\n$/,
  },
  'an origin that no browser sends, before anything is made': {
    role: 'provision',
    arguments: ['--out', '/nowhere/x.json', '--origin', 'https://shop.example/cart'],
    sentence: /^--origin takes what browsers send, such as [^\n]+, not https:\S+\.\n$/,
  },
  'a people command that says nothing of whom': {
    role: 'people',
    arguments: ['disable'],
    sentence: 'Usage: npm run people -- disable|enable --address ADDRESS | --workspace ID\n',
  },
  'half of a social client': {
    environment: { SIGNALBOX_GOOGLE_CLIENT_ID: 'id' },
    sentence: 'Set SIGNALBOX_GOOGLE_CLIENT_ID and SIGNALBOX_GOOGLE_CLIENT_SECRET, both or none.\n',
  },
  'a mail server that is none, without showing its password': {
    environment: { SIGNALBOX_MAIL_URL: 'https://user:hidden@mail.example' },
    sentence:
      'SIGNALBOX_MAIL_URL must be an smtp:// or smtps:// address such as ' +
      'smtps://user:password@mail.example.\n',
  },
  'an owner that is no address, before anything is made': {
    role: 'provision',
    arguments: ['--out', '/nowhere/x.json', '--owner', 'Ada'],
    sentence: PROVISION_USAGE,
  },
  'a key command that does not exist': {
    role: 'key',
    arguments: ['show'],
    sentence: /^Usage: npm run key -- list --tracker ID \| issue [^\n]+\n$/,
  },
  'an audit command that does not exist': {
    role: 'audit',
    arguments: ['show'],
    sentence:
      'Usage: npm run audit -- verify [--workspace ID] [--head FILE] | ' +
      'export --workspace ID [--out FILE] | sign --workspace ID\n',
  },
  'a campaigns command that does not exist': {
    role: 'campaigns',
    arguments: ['show', '--account', '1'],
    sentence: /^Usage: npm run campaigns -- list --account ID \| set [^\n]+\n$/,
  },
  'a credential command that does not exist': {
    role: 'credential',
    arguments: ['show'],
    sentence:
      'Usage: npm run credential -- list | reseal | ' +
      'set --destination ID [--tracker ID] [--dataset DIGITS] --from FILE|-\n',
  },
  'a credential without a store': {
    role: 'credential',
    arguments: ['list'],
    sentence: /^No PostgreSQL runs on \S+: start "npm start" first, or set DATABASE_URL\.\n$/,
  },
  'a store that nobody serves, without showing the password': {
    role: 'serve',
    environment: { DATABASE_URL: 'postgres://jane:hidden@127.0.0.1:9/signalbox' },
    sentence: 'No PostgreSQL listens where DATABASE_URL points, at 127.0.0.1:9 (ECONNREFUSED).\n',
  },
}

describe('a start that cannot succeed', { concurrency: true }, () => {
  it('what cannot start says why in one sentence, ends with code 1 and leaves nothing', async test => {
    const place = createInstallation(test)
    const refusals = Object.entries(REFUSALS).map(async ([what, { sentence, ...options }]) => {
      const program = place.start(options)
      assert.deepEqual(await program.exited, { code: 1, signal: null }, what)
      if (typeof sentence === 'string') assert.equal(program.stderr(), sentence, what)
      else assert.match(program.stderr(), sentence, what)
    })
    await Promise.all(refusals)
    assert.equal(existsSync(place.dataFolder), false)
  })

  it('a store that refuses us is told apart from one that is not there', async test => {
    const place = createInstallation(test)
    const known = await createDatabaseFromTemplate(test, 'template0')
    const wrongPassword = new URL(known)
    wrongPassword.password = 'hidden'
    const server = `at 127.0.0.1:${wrongPassword.port}`
    const stranger = place.start({
      role: 'serve',
      environment: { DATABASE_URL: wrongPassword.href },
    })
    const lost = place.start({
      role: 'serve',
      environment: { DATABASE_URL: databaseUrl('nowhere') },
    })
    assert.deepEqual(await stranger.exited, { code: 1, signal: null })
    assert.equal(
      stranger.stderr(),
      `The user or the password in DATABASE_URL is refused by the PostgreSQL ${server} (28P01).\n`,
    )
    assert.deepEqual(await lost.exited, { code: 1, signal: null })
    assert.equal(
      lost.stderr(),
      `The database in DATABASE_URL does not exist in the PostgreSQL ${server} (3D000).\n`,
    )
  })

  it('a port that is taken ends the start, and the store that was started for it', async test => {
    const other = createServer().listen({ host: '127.0.0.1', port: 0 })
    test.after(() => other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const place = createInstallation(test)
    const program = place.start({ environment: { PORT: String(port) } })
    assert.deepEqual(await program.exited, { code: 1, signal: null })
    assert.equal(
      program.stderr(),
      `Port ${port} on 127.0.0.1 is taken by another program: set PORT to a free one.\n`,
    )
    assert.equal(place.postgresProcessId(), null)
    assert.equal(existsSync(join(place.dataFolder, 'owner.json')), false)
    assert.equal(existsSync(join(place.dataFolder, 'credentials.json')), false)
  })

  it('a port for the metrics that was asked for and is taken ends the start as well', async test => {
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

  it('a key file that was cut short is refused, not replaced', async test => {
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
