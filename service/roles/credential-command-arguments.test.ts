import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseCredentialCommand } from './credential-command.ts'

const ID = '0190bbbb-0000-7000-8000-000000000001'
const USAGE = {
  name: 'StartError',
  message:
    'Usage: npm run credential -- list | reseal | ' +
    'set --destination ID [--tracker ID] [--dataset DIGITS] --from FILE|-',
}

it('list and reseal take nothing else', () => {
  assert.deepEqual(parseCredentialCommand(['list']), { kind: 'list' })
  assert.deepEqual(parseCredentialCommand(['reseal']), { kind: 'reseal' })
  for (const rest of [['list', 'all'], ['reseal', '--dry-run'], [], ['--help']]) {
    assert.throws(() => parseCredentialCommand(rest), USAGE)
  }
})

it('set names a destination and where its token is, and may name more', () => {
  assert.deepEqual(
    parseCredentialCommand(['set', '--destination', ID.toUpperCase(), '--from', '-']),
    {
      kind: 'set',
      destinationId: ID,
      trackerId: null,
      config: {},
      tokenFrom: '-',
    },
  )
  const all = ['--destination', ID, '--tracker', ID, '--dataset', '1234567890123456']
  assert.deepEqual(parseCredentialCommand(['set', ...all, '--from', 'token']), {
    kind: 'set',
    destinationId: ID,
    trackerId: ID,
    config: { dataset_id: '1234567890123456' },
    tokenFrom: 'token',
  })
})

it('what is missing or unknown is answered with the usage', () => {
  const wrong = [
    ['set'],
    ['set', '--destination', ID],
    ['set', '--from', '-'],
    ['set', '--destination', ID, '--from', '-', 'more'],
    ['set', '--destination', ID, '--from', '-', '--user', 'x'],
  ]
  for (const list of wrong) assert.throws(() => parseCredentialCommand(list), USAGE)
})

it('an option of the wrong form is named', () => {
  const set = (...options: string[]) => parseCredentialCommand(['set', '--from', '-', ...options])
  assert.throws(() => set('--destination', '7'), {
    message: '--destination takes an id as "npm run credential -- list" shows it, not 7.',
  })
  assert.throws(() => set('--destination', ID, '--tracker', '7'), /^StartError: --tracker takes an/)
  for (const dataset of ['12/34', 'act_1', '1'.repeat(21), '']) {
    assert.throws(() => set('--destination', ID, '--dataset', dataset), {
      message: `--dataset takes the digits of a dataset id, not ${dataset}.`,
    })
  }
})
