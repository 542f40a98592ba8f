import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readSettings, SettingsError } from './read-settings.ts'
import { VARIABLES } from './variables.ts'

it('an empty environment gives the documented defaults', () => {
  const settings = readSettings({})
  assert.equal(settings.port, 3000)
  assert.equal(settings.host, '127.0.0.1')
  assert.match(settings.dataDirectory, /\/\.data$/)
  assert.equal(settings.databaseUrl, undefined)
  assert.deepEqual(settings.warnings, [])
})

it('a wrong value is refused in one sentence that names the variable and what it takes', () => {
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
    assert.throws(() => readSettings(environment), { name: 'SettingsError', message })
  }
})

it('a wrong secret is refused without showing it', () => {
  assert.throws(
    () => readSettings({ SIGNALBOX_CREDENTIAL_KEY: 'not-a-key-but-private' }),
    (error: Error) => error instanceof SettingsError && !error.message.includes('private'),
  )
})

it('a secret may come from a file, and naming both is refused', () => {
  const path = import.meta.filename
  assert.throws(() => readSettings({ DATABASE_URL_FILE: '/no/such/file' }), SettingsError)
  assert.throws(
    () => readSettings({ DATABASE_URL: 'postgres://a/b', DATABASE_URL_FILE: path }),
    /not both/,
  )
})

it('previous keys are several, with commas between them, and never shown', () => {
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
        'SIGNALBOX_CREDENTIAL_KEY_PREVIOUS must be 1 to 8 keys of 64 hexadecimal characters ' +
        'with commas between them.',
    })
  }
})

it('the keys of the contract are texts of keys, and the contact is one that can be followed', () => {
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

it('an unknown SIGNALBOX_ variable is a warning with the nearest name', () => {
  const { warnings } = readSettings({ SIGNALBOX_DATADIR: 'x', SIGNALBOX_ZZZZZZZZZZZ: '1' })
  assert.deepEqual(warnings, [
    'SIGNALBOX_DATADIR is not a setting; did you mean SIGNALBOX_DATA_DIR?',
    'SIGNALBOX_ZZZZZZZZZZZ is not a setting.',
  ])
})

it('identity is kept at least as long as an event may be sent, and never longer than the event', () => {
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

it('the list of given variables names them and holds no value', () => {
  const { givenVariables: given } = readSettings({
    DATABASE_URL: 'postgres://u:hidden@h/d',
    PORT: '0',
  })
  assert.deepEqual(given, ['PORT', 'DATABASE_URL'])
})

it('every variable has a meaning and every default passes its own check', () => {
  for (const [name, variable] of Object.entries(VARIABLES)) {
    assert.ok(variable.meaning.endsWith('.'), name)
  }
  assert.doesNotThrow(() => readSettings({}))
})
