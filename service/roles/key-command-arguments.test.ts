import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseKeyCommand, requireOrigins } from './key-command.ts'

const ID = '0190aaaa-0000-7000-8000-000000000001'
const TRACKER = ['--tracker', ID]
const USAGE = {
  name: 'StartError',
  message:
    'Usage: npm run key -- list --tracker ID | ' +
    'issue --tracker ID --kind publishable|forwarding|secret [--origin ORIGIN]... --out FILE | ' +
    'revoke --tracker ID --last CHARACTERS [--kind KIND]',
}

it('list names a tracker', () => {
  const command = parseKeyCommand(['list', '--tracker', ID.toUpperCase()])
  assert.deepEqual(command, { task: 'list', trackerId: ID })
})

it('issue names a kind, a file, and the origins of a publishable key', () => {
  const issue = ['issue', ...TRACKER, '--out', '/keys/new.json', '--kind']
  assert.deepEqual(
    parseKeyCommand([
      ...issue,
      'publishable',
      '--origin',
      'https://Shop.example',
      '--origin=http://[::1]:*',
    ]),
    {
      task: 'issue',
      trackerId: ID,
      kind: 'publishable',
      origins: ['https://shop.example', 'http://[::1]:*'],
      path: '/keys/new.json',
    },
  )
  for (const [name, kind] of [
    ['forwarding', 'forwarding'],
    ['secret', 'tracker_secret'],
  ] as const) {
    const expected = { task: 'issue', trackerId: ID, kind, origins: [], path: '/keys/new.json' }
    assert.deepEqual(parseKeyCommand([...issue, name]), expected)
    assert.throws(() => parseKeyCommand([...issue, name, '--origin', 'https://shop.example']), {
      message: '--origin is for publishable keys alone.',
    })
  }
})

it('revoke names the end of a key, and its kind where two end alike', () => {
  const revoke = ['revoke', ...TRACKER, '--last', 'c0de']
  const command = { task: 'revoke', trackerId: ID, lastCharacters: 'c0de' }
  assert.deepEqual(parseKeyCommand(revoke), { ...command, kind: null })
  assert.deepEqual(parseKeyCommand([...revoke, '--kind', 'secret']), {
    ...command,
    kind: 'tracker_secret',
  })
})

it('what is missing, unknown or of another task is answered with the usage', () => {
  const wrong = [
    [],
    ['list'],
    TRACKER,
    ['show', ...TRACKER],
    ['list', ...TRACKER, '--kind', 'secret'],
    ['list', ...TRACKER, 'more'],
    ['list', ...TRACKER, '--all'],
    ['issue', ...TRACKER, '--kind', 'publishable'],
    ['issue', ...TRACKER, '--out', 'x.json'],
    ['issue', ...TRACKER, '--out', 'x.json', '--kind', 'tracker_secret'],
    ['issue', ...TRACKER, '--out', 'x.json', '--kind', 'secret', '--last', 'c0de'],
    ['revoke', ...TRACKER],
    ['revoke', ...TRACKER, '--last', 'c0de', '--kind', 'sandbox'],
    ['revoke', ...TRACKER, '--last', 'c0de', '--out', 'x.json'],
  ]
  for (const list of wrong) assert.throws(() => parseKeyCommand(list), USAGE, list.join(' '))
})

it('an option of the wrong form is named', () => {
  assert.throws(() => parseKeyCommand(['list', '--tracker', '7']), {
    message: '--tracker takes an id as "npm run credential -- list" shows it, not 7.',
  })
  for (const origin of ['shop.example', 'https://shop.example/', '*', 'https://*.com']) {
    assert.throws(() => requireOrigins([origin]), {
      name: 'StartError',
      message:
        '--origin takes what browsers send, such as https://shop.example, or one of the wildcards ' +
        `https://*.shop.example and http://127.0.0.1:*, not ${origin}.`,
    })
  }
  assert.throws(() => requireOrigins(Array(21).fill('https://shop.example')), {
    message: 'A publishable key has at most 20 origins.',
  })
})
