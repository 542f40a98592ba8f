import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import pg from 'pg'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { createTestDatabase } from '../../../testing/fixtures/database.ts'
import { examine } from '../../../testing/fixtures/doctor.ts'
import { waitUntil } from '../../../testing/fixtures/wait-until.ts'

it('verifies the certificate and the name of PostgreSQL with the file of a CA', async test => {
  const { connectionString } = await createTestDatabase(test)
  const { ca, other, rename } = await serveTls(test, connectionString)
  const urlOf = (host: string, parameters: Record<string, string>) => {
    const url = new URL(connectionString)
    url.hostname = host
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }
  const { dataFolder } = createDataFolder(test)
  const start = (DATABASE_URL: string) =>
    runCommand(['migrate'], { environment: { DATABASE_URL, SIGNALBOX_DATA_DIR: dataFolder } })

  const verified = urlOf('localhost', { sslmode: 'verify-full', sslrootcert: ca })
  const { code, stderr } = await start(verified)
  assert.deepEqual([code, stderr], [0, 'The schema is up to date.\n'])
  assert.equal(await isEncrypted(verified), true)

  for (const parameters of [
    { sslmode: 'verify-full' },
    { sslmode: 'verify-full', sslrootcert: other },
  ]) {
    const refused = await start(urlOf('localhost', parameters))
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^The certificate of PostgreSQL is signed by no authority .+\n$/)
    assert.match(refused.stderr, /sslrootcert=.+ at localhost:\d+ \([A-Z_]+\): [a-z]/)
  }
  const noFile = urlOf('localhost', { sslmode: 'verify-full', sslrootcert: `${ca}.missing` })
  assert.match((await start(noFile)).stderr, /^DATABASE_URL names a file that does not exist.+\n$/)

  await rename('db.internal')
  const otherName = await start(verified)
  assert.match(otherName.stderr, /^The certificate of PostgreSQL is for another name: .+\n$/)

  const { of } = await examine({
    DATABASE_URL: urlOf('localhost', { sslmode: 'verify-full' }),
    SIGNALBOX_DATA_DIR: dataFolder,
  })
  assert.match(of('store.reachable').message, /sslrootcert/)
})

it('says that PostgreSQL has TLS off', async test => {
  const { connectionString } = await createTestDatabase(test)
  const url = `${connectionString}?sslmode=verify-full`
  const { dataFolder } = createDataFolder(test)
  const environment = { DATABASE_URL: url, SIGNALBOX_DATA_DIR: dataFolder }
  const { code, stderr } = await runCommand(['migrate'], { environment })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /^PostgreSQL has TLS off: .+The server does not support SSL connections\.\n$/,
  )
})

/** Turns TLS on for the server of the tests, with a certificate for `localhost` of a CA of its own. */
async function serveTls(test: TestContext, connectionString: string) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query('show data_directory')
  const { uid, gid } = statSync(rows[0].data_directory)
  const folder = mkdtempSync(join(rows[0].data_directory, 'tls-'))
  test.after(async () => {
    await client.query('alter system reset ssl')
    await client.query('alter system reset ssl_cert_file')
    await client.query('alter system reset ssl_key_file')
    await client.query('select pg_reload_conf()')
    await client.end()
    rmSync(folder, { recursive: true })
  })
  const ca = createCertificate(folder, { name: 'ca' })
  const other = createCertificate(folder, { name: 'other' })
  const rename = async (name: string) => {
    const { certificate, key } = createCertificate(folder, { name, signedBy: ca })
    for (const path of [folder, certificate, key]) chownSync(path, uid, gid)
    await client.query(`alter system set ssl_cert_file = '${certificate}'`)
    await client.query(`alter system set ssl_key_file = '${key}'`)
    await client.query('alter system set ssl = on')
    await client.query('select pg_reload_conf()')
    await waitUntil('PostgreSQL has the certificate', async () => {
      const later = new pg.Client({ connectionString })
      await later.connect()
      const { rows } = await later.query('show ssl_cert_file')
      await later.end()
      return rows[0].ssl_cert_file === certificate
    })
  }
  await rename('localhost')
  return { ca: ca.certificate, other: other.certificate, rename }
}

interface Certificate {
  certificate: string
  key: string
}

function createCertificate(
  folder: string,
  { name, signedBy }: { name: string; signedBy?: Certificate },
): Certificate {
  const key = join(folder, `${name}.key`)
  const certificate = join(folder, `${name}.pem`)
  const own = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const signer = signedBy
    ? ['-CA', signedBy.certificate, '-CAkey', signedBy.key, '-addext', `subjectAltName=DNS:${name}`]
    : []
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      ...own,
      '-subj',
      `/CN=${name}`,
      '-keyout',
      key,
      '-out',
      certificate,
      ...signer,
    ],
    { stdio: 'pipe' },
  )
  return { certificate, key }
}

async function isEncrypted(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const { rows } = await client.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    return rows[0].ssl
  } finally {
    await client.end()
  }
}
