import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCommand } from '../../../testing/fixtures/command-line.ts'
import { createDataFolder } from '../../../testing/fixtures/data-folder.ts'
import { examine } from '../../../testing/fixtures/doctor.ts'

/** Counts as an address for others, and leads to this machine: a test calls no other. */
const ELSEWHERE = '0.0.0.0:4433'
const PUBLIC = { SIGNALBOX_PUBLIC_ORIGIN: `https://${ELSEWHERE}` }

interface Misconfiguration {
  environment: Record<string, string>
  check: string
  severity: 'warning' | 'error'
  message: RegExp
  fix: RegExp
}

const MISCONFIGURATIONS: Record<string, Misconfiguration> = {
  'a setting outside its range': {
    environment: { PORT: 'http' },
    check: 'settings.values',
    severity: 'error',
    message: /^PORT must be a whole number from 0 to 65535, not "http"\.$/,
    fix: /settings\.md/,
  },
  'settings that contradict each other': {
    environment: {
      SIGNALBOX_PAYLOAD_RETENTION_DAYS: '365',
      SIGNALBOX_LEDGER_RETENTION_MONTHS: '6',
    },
    check: 'settings.values',
    severity: 'error',
    message: /LEDGER_RETENTION_MONTHS must be at least 14/,
    fix: /settings\.md/,
  },
  'a misspelled setting': {
    environment: { SIGNALBOX_PLATFORM_ULR: 'https://graph.facebook.com' },
    check: 'settings.names',
    severity: 'warning',
    message: /did you mean SIGNALBOX_PLATFORM_URL\?/,
    fix: /Correct or remove it/,
  },
  'more requests than connections': {
    environment: { SIGNALBOX_DELIVERY_REQUESTS_MAX: '64' },
    check: 'settings.delivery_requests',
    severity: 'warning',
    message: /64 requests at the same time, but has 10 connections/,
    fix: /SIGNALBOX_DELIVERY_REQUESTS_MAX below/,
  },
  'a public address without an origin': {
    environment: { HOST: '0.0.0.0' },
    check: 'settings.public_origin',
    severity: 'warning',
    message: /SIGNALBOX_PUBLIC_ORIGIN is not set/,
    fix: /https:\/\/events\.example/,
  },
  'a public origin without TLS': {
    environment: { SIGNALBOX_PUBLIC_ORIGIN: `http://${ELSEWHERE}` },
    check: 'settings.public_origin',
    severity: 'error',
    message: /unencrypted/,
    fix: /TLS/,
  },
  'a proxy that is not trusted': {
    environment: PUBLIC,
    check: 'settings.trusted_proxies',
    severity: 'warning',
    message: /share its rate limits/,
    fix: /SIGNALBOX_TRUSTED_PROXIES/,
  },
  'trust in every address': {
    environment: { ...PUBLIC, SIGNALBOX_TRUSTED_PROXIES: '10.0.0.0/8, 0.0.0.0/0' },
    check: 'settings.trusted_proxies',
    severity: 'error',
    message: /a caller chooses the address/,
    fix: /your proxies only/,
  },
  'metrics on all addresses': {
    environment: { SIGNALBOX_METRICS_HOST: '0.0.0.0' },
    check: 'settings.metrics_host',
    severity: 'warning',
    message: /need no credential/,
    fix: /SIGNALBOX_METRICS_HOST/,
  },
  'a public service without a platform': {
    environment: PUBLIC,
    check: 'settings.platform_url',
    severity: 'warning',
    message: /go to the simulator/,
    fix: /https:\/\/graph\.facebook\.com/,
  },
  'a platform without TLS': {
    environment: { SIGNALBOX_PLATFORM_URL: `http://${ELSEWHERE}` },
    check: 'settings.platform_url',
    severity: 'error',
    message: /credentials and events travel unencrypted/,
    fix: /https/,
  },
  'a public service that mails to a folder': {
    environment: PUBLIC,
    check: 'settings.mail',
    severity: 'warning',
    message: /reach no one/,
    fix: /SIGNALBOX_MAIL_URL/,
  },
  'a sender that other servers reject': {
    environment: { SIGNALBOX_MAIL_URL: 'smtp://127.0.0.1:9' },
    check: 'settings.mail',
    severity: 'warning',
    message: /signalbox@localhost/,
    fix: /SIGNALBOX_MAIL_FROM/,
  },
  'a public service with a development key': {
    environment: PUBLIC,
    check: 'settings.contract_key',
    severity: 'warning',
    message: /development key/,
    fix: /Ed25519/,
  },
  'a public service with its key in the data folder': {
    environment: PUBLIC,
    check: 'settings.credential_key',
    severity: 'warning',
    message: /no stored credential can be read/,
    fix: /keep a copy elsewhere/,
  },
  'sign-up that is open to anyone': {
    environment: PUBLIC,
    check: 'settings.sign_up',
    severity: 'warning',
    message: /Anyone who reaches/,
    fix: /SIGNALBOX_SIGN_UP to invited/,
  },
  'the PostgreSQL from npm in public': {
    environment: PUBLIC,
    check: 'settings.bundled_postgres',
    severity: 'warning',
    message: /security fixes/,
    fix: /DATABASE_URL/,
  },
}

describe('the doctor reads the settings', () => {
  for (const [title, wanted] of Object.entries(MISCONFIGURATIONS)) {
    it(`and finds ${title}`, async test => {
      const { dataFolder } = createDataFolder(test)
      const environment = { SIGNALBOX_DATA_DIR: dataFolder, ...wanted.environment }
      const { code, of } = await examine(environment)
      const { severity, message, fix } = of(wanted.check)
      assert.equal(severity, wanted.severity)
      assert.match(message, wanted.message)
      assert.match(String(fix), wanted.fix)
      if (severity === 'error') assert.equal(code, 2)
      assert.equal(existsSync(dataFolder), false, 'it creates nothing')
    })
  }

  it('and is content with a new installation on one machine', async test => {
    const { dataFolder } = createDataFolder(test)
    const environment = { SIGNALBOX_DATA_DIR: dataFolder }
    const { code, findings } = await examine(environment)
    assert.equal(code, 0)
    const noted = findings.filter(({ severity }) => severity === 'warning')
    assert.deepEqual(
      noted.map(({ check }) => check),
      ['store.reachable'],
      'the store does not run yet',
    )
    const strict = await examine(environment, { arguments: ['--strict'] })
    assert.equal(strict.code, 2)
  })
})

describe('the doctor reads the data folder', () => {
  it('and finds a file in its place', async test => {
    const { home } = createDataFolder(test)
    writeFileSync(join(home, 'file'), '')
    const { of } = await examine({ SIGNALBOX_DATA_DIR: join(home, 'file', 'data') })
    const { severity, message } = of('data_folder.writable')
    assert.equal(severity, 'error')
    assert.match(message, /cannot write the data folder/)
  })

  it('and finds secrets that others may read', async test => {
    const { dataFolder } = createDataFolder(test)
    mkdirSync(dataFolder)
    writeFileSync(join(dataFolder, 'credentials.json'), '{"tracker_secret":"s3cret"}', {
      mode: 0o644,
    })
    const { of, text } = await examine({ SIGNALBOX_DATA_DIR: dataFolder })
    const { severity, message } = of('data_folder.permissions')
    assert.equal(severity, 'error')
    assert.match(message, /credentials\.json/)
    assert.doesNotMatch(text, /s3cret/)
  })

  it('and finds a disk that is nearly full', async test => {
    const { home } = createDataFolder(test)
    if (!mountSmallDisk(home)) return test.skip('this account may not mount a file system')
    const { code, of } = await examine({ SIGNALBOX_DATA_DIR: join(home, 'data') }).finally(() =>
      execFileSync('umount', [home]),
    )
    assert.equal(of('data_folder.disk').severity, 'error')
    assert.match(of('data_folder.disk').message, /^1 MB are free/)
    assert.equal(code, 2)
  })
})

it('the doctor prints what needs work last, and how to mend it', async test => {
  const { dataFolder } = createDataFolder(test)
  const { code, stdout } = await runCommand(['doctor'], {
    environment: {
      PORT: '0',
      SIGNALBOX_DATA_DIR: dataFolder,
      SIGNALBOX_PLATFORM_URL: `http://${ELSEWHERE}`,
      SIGNALBOX_CREDENTIAL_KEY: 'ab'.repeat(32),
      SIGNALBOX_MAIL_URL: 'smtp://jane:hidden@127.0.0.1:9',
    },
  })
  assert.equal(code, 2)
  assert.match(
    stdout,
    /\nerror {4}SIGNALBOX_PLATFORM_URL is http:\/\/0\.0\.0\.0:4433: .+ \[settings\.platform_url\]\n {9}-> Set it to an https address\.\n/,
  )
  assert.match(
    stdout,
    /\n\n3 errors, \d+ warnings, \d+ ok, \d+ skipped\n\nExpected before the first start: store\.reachable\.\nCorrect the rest now, .+\n$/,
  )
  assert.doesNotMatch(stdout, /hidden|abab/)
})

function mountSmallDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe('versions that platforms end', () => {
  const LINKEDIN = {
    SIGNALBOX_LINKEDIN_URL: 'https://127.0.0.1:9',
    SIGNALBOX_LINKEDIN_VERSION: '202607',
  }
  for (const [day, severity] of [
    ['2027-04-10', 'ok'],
    ['2027-04-20', 'warning'],
    ['2027-07-14', 'warning'],
    ['2027-07-16', 'error'],
  ] as const) {
    it(`says ${severity} on ${day} of a version that ends on 2027-07-15`, async () => {
      const { of } = await examine(LINKEDIN, { now: () => new Date(`${day}T12:00:00Z`) })
      const { message, fix, severity: found } = of('settings.platform_versions')
      assert.equal(found, severity)
      assert.match(message, /LinkedIn .* version 202607 .*2027-07-15/)
      if (severity !== 'ok') assert.match(fix ?? '', /SIGNALBOX_LINKEDIN_VERSION/)
    })
  }

  it('says nothing of versions where no such platform is in use', async () => {
    const { of } = await examine({}, { now: () => new Date('2027-12-01T12:00:00Z') })
    assert.equal(of('settings.platform_versions').severity, 'ok')
  })
})
