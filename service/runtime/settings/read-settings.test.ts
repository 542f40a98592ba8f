import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PLATFORM_SETTINGS } from '../../signals/platforms/plug-ins.ts'
import { readSettings, SettingsError } from './read-settings.ts'
import { listSettings, readPluginSetting } from './settings.ts'

it('returns the documented defaults for an empty environment', () => {
  const settings = readSettings({})
  assert.equal(settings.port, 3000)
  assert.equal(settings.host, '127.0.0.1')
  assert.match(settings.dataDirectory, /\/\.data$/)
  assert.equal(settings.databaseUrl, undefined)
  assert.deepEqual(settings.warnings, [])
})

it('refuses an invalid value in one sentence that names the variable and its range', () => {
  const wrong: [Record<string, string>, string][] = [
    [{ PORT: 'eighty' }, 'PORT must be a whole number from 0 to 65535, not "eighty".'],
    [{ PORT: '70000' }, 'PORT must be a whole number from 0 to 65535, not "70000".'],
    [
      { SIGNALBOX_PLATFORM_URL: 'graph' },
      'SIGNALBOX_PLATFORM_URL must be an absolute URL, not "graph".',
    ],
    [
      { SIGNALBOX_PLATFORM_VERSION: '26' },
      'SIGNALBOX_PLATFORM_VERSION must look like v26.0, not "26".',
    ],
  ]
  for (const [environment, message] of wrong) {
    const read = () => readSettings(environment, PLATFORM_SETTINGS)
    assert.throws(read, { name: 'SettingsError', message })
  }
})

it('refuses an invalid secret without printing it', () => {
  assert.throws(
    () => readSettings({ SIGNALBOX_CREDENTIAL_KEY: 'not-a-key-but-private' }),
    (error: Error) => error instanceof SettingsError && !error.message.includes('private'),
  )
})

it('refuses a DATABASE_URL of another scheme or without a host, and never prints it', () => {
  const example = 'postgres://user:password@host:5432/database'
  const wrong = {
    'http://jane:hidden@127.0.0.1:5432/signalbox': `be a URL such as ${example}`,
    'mysql://jane:hidden@127.0.0.1/signalbox': `be a URL such as ${example}`,
    'jane:hidden@127.0.0.1:5432/signalbox': `be a URL such as ${example}`,
    'not a URL, hidden': `be a URL such as ${example}`,
    'postgres:///signalbox?password=hidden': `name a host, as in ${example}`,
    'postgresql:hidden': `name a host, as in ${example}`,
  }
  for (const [DATABASE_URL, requirement] of Object.entries(wrong)) {
    const message = `DATABASE_URL must ${requirement}.`
    assert.throws(() => readSettings({ DATABASE_URL }), { name: 'SettingsError', message })
  }
  for (const DATABASE_URL of [
    'postgres://jane:hidden@127.0.0.1:5432/signalbox?sslmode=require',
    'postgresql://db.example/signalbox',
    'postgres://jane@%2Frun%2Fpostgresql/signalbox',
    'postgres:///signalbox?host=/run/postgresql',
  ]) {
    assert.equal(readSettings({ DATABASE_URL }).databaseUrl, DATABASE_URL)
  }
})

it('reads a secret from a file, and refuses both forms together', () => {
  const path = import.meta.filename
  assert.throws(() => readSettings({ DATABASE_URL_FILE: '/no/such/file' }), SettingsError)
  assert.throws(
    () => readSettings({ DATABASE_URL: 'postgres://a/b', DATABASE_URL_FILE: path }),
    /not both/,
  )
})

it('reads comma-separated previous keys and never prints them', () => {
  const [one, two] = ['ab'.repeat(32), 'CD'.repeat(32)]
  const read = (value: string) =>
    readSettings({ SIGNALBOX_CREDENTIAL_KEY_PREVIOUS: value }).credentialKeysPrevious
  assert.deepEqual(readSettings({}).credentialKeysPrevious, [])
  assert.deepEqual(read(one), [one])
  assert.deepEqual(read(`${one}, ${two}`), [one, two])
  for (const wrong of ['abcd', `${one},`, `${one} ${two}`, Array(9).fill(one).join(',')]) {
    assert.throws(() => read(wrong), {
      name: 'SettingsError',
      message:
        'SIGNALBOX_CREDENTIAL_KEY_PREVIOUS must be 1 to 8 comma-separated keys of 64 hexadecimal ' +
        'characters.',
    })
  }
})

it('accepts contract keys as JWK or PEM, and a contact as mailto:, https: or tel:', () => {
  const pem = '-----BEGIN PRIVATE KEY-----\nMC4CAQ==\n-----END PRIVATE KEY-----'
  for (const key of [pem, '{\n "kty": "OKP" }']) {
    assert.equal(readSettings({ SIGNALBOX_CONTRACT_KEY: `${key}\n` }).contractKey, key)
  }
  for (const key of ['key', '-----BEGIN PUBLIC KEY-----', '[]']) {
    assert.throws(() => readSettings({ SIGNALBOX_CONTRACT_KEY: key }), {
      name: 'SettingsError',
      message:
        'SIGNALBOX_CONTRACT_KEY must be an Ed25519 private key, as a JWK or as PKCS#8 in PEM.',
    })
  }
  const contact = (text: string) =>
    readSettings({ SIGNALBOX_SECURITY_CONTACT: text }).securityContact
  for (const text of ['mailto:a@b.example', 'https://b.example/security', 'tel:+49-30-1234']) {
    assert.equal(contact(text), text)
  }
  for (const text of [
    'a@b.example',
    'http://b.example',
    'mailto:a b@c',
    'https://b.example/a\nb',
  ]) {
    assert.throws(() => contact(text), /must be a mailto:, https: or tel: address/)
  }
})

it('warns of an unknown SIGNALBOX_ variable with the nearest name', () => {
  const { warnings } = readSettings({ SIGNALBOX_DATADIR: 'x', SIGNALBOX_ZZZZZZZZZZZ: '1' })
  assert.deepEqual(warnings, [
    'SIGNALBOX_DATADIR is not a setting; did you mean SIGNALBOX_DATA_DIR?',
    'SIGNALBOX_ZZZZZZZZZZZ is not a setting.',
  ])
})

it('requires identity to be kept as long as an event may be sent, and no longer than the event', () => {
  const { payloadRetentionDays, ledgerRetentionMonths, attemptRetentionDays } = readSettings({})
  assert.deepEqual(
    [payloadRetentionDays, ledgerRetentionMonths, attemptRetentionDays],
    [90, 25, 90],
  )
  const read = (days: string, months: string) =>
    readSettings({
      SIGNALBOX_PAYLOAD_RETENTION_DAYS: days,
      SIGNALBOX_LEDGER_RETENTION_MONTHS: months,
    }).payloadRetentionDays
  assert.equal(read('63', '3'), 63)
  assert.equal(read('84', '3'), 84)
  assert.throws(() => read('62', '3'), {
    name: 'SettingsError',
    message: 'SIGNALBOX_PAYLOAD_RETENTION_DAYS must be a whole number from 63 to 3650, not "62".',
  })
  assert.throws(() => read('85', '3'), {
    name: 'SettingsError',
    message:
      'SIGNALBOX_LEDGER_RETENTION_MONTHS must be at least 4 when ' +
      'SIGNALBOX_PAYLOAD_RETENTION_DAYS is 85.',
  })
})

it('lists the given variables without the value of a secret', () => {
  const { given } = readSettings({ DATABASE_URL: 'postgres://u:hidden@h/d', PORT: '0' })
  assert.deepEqual(given, [
    { variable: 'PORT', value: '0' },
    { variable: 'DATABASE_URL', value: null },
  ])
})

it('warns of a renamed variable with its new name', () => {
  const { warnings } = readSettings({ SIGNALBOX_DELIVERY_LANE_REQUESTS_MAX: '1' })
  assert.deepEqual(warnings, [
    'SIGNALBOX_DELIVERY_LANE_REQUESTS_MAX has no effect: it is now ' +
      'SIGNALBOX_DELIVERY_DESTINATION_REQUESTS_MAX.',
  ])
})

it('refuses half of a social sign-in client', () => {
  assert.throws(() => readSettings({ SIGNALBOX_GITHUB_CLIENT_ID: 'app' }), {
    name: 'SettingsError',
    message: 'Set both SIGNALBOX_GITHUB_CLIENT_ID and SIGNALBOX_GITHUB_CLIENT_SECRET, or neither.',
  })
})

it('has a sentence and a unique variable for every setting', () => {
  const settings = listSettings(PLATFORM_SETTINGS).map(([, setting]) => setting)
  for (const { variable, description } of settings) assert.ok(description.endsWith('.'), variable)
  assert.equal(new Set(settings.map(({ variable }) => variable)).size, settings.length)
})

it('reads the settings of plug-ins from their own tables, with defaults where none was read', () => {
  const [table] = PLATFORM_SETTINGS
  assert.ok(table)
  const [address, version] = Object.values(table)
  assert.ok(address && version)
  const environment = { [address.variable]: 'https://platform.example/', PORT: '0' }
  const settings = readSettings(environment, [table])
  assert.equal(readPluginSetting(settings, address), 'https://platform.example')
  assert.equal(readPluginSetting(settings, version), version.default)
  assert.deepEqual(settings.warnings, [])
  assert.equal(readPluginSetting({ pluginValues: {} }, version), version.default)
  assert.equal(readPluginSetting({ pluginValues: {} }, address), undefined)
  const given = settings.given.map(({ variable }) => variable)
  assert.deepEqual(given, ['PORT', address.variable])
})
