import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { it, type TestContext } from 'node:test'
import { createOfflinePlatforms } from '../../signals/platforms/registry.ts'
import { readPlatformToken, rejectTokenArgument } from './credentials-file.ts'

const PLATFORM = createOfflinePlatforms().default
const NOTHING = Readable.from([])

it('reads a token from a file or standard input and drops one line break', async test => {
  const path = join(emptyFolder(test), 'token')
  for (const end of ['', '\n', '\r\n']) {
    writeFileSync(path, `EAAB-token_1${end}`)
    assert.equal(await readPlatformToken(path, NOTHING, PLATFORM), 'EAAB-token_1')
    const pieces = Readable.from(['EAAB', '-token_1', end].map(text => Buffer.from(text)))
    assert.equal(await readPlatformToken('-', pieces, PLATFORM), 'EAAB-token_1')
  }
})

it('accepts 2,000 characters and stops reading a longer token', async () => {
  const longest = 'x'.repeat(2_000)
  const lines = [`${longest}\r\n`].map(text => Buffer.from(text))
  assert.equal(await readPlatformToken('-', Readable.from(lines), PLATFORM), longest)
  await assert.rejects(readPlatformToken('-', endless(), PLATFORM), { name: 'PlatformTokenError' })
})

it('rejects an invalid token without showing it', async test => {
  const path = join(emptyFolder(test), 'token')
  for (const content of ['', '\n', 'hid den', 'hidden\n\n', 'hidden\t', 'hiddén', ' hidden']) {
    writeFileSync(path, content)
    const message =
      `There is no token in ${path}: it must contain only the token, 1 to 2,000 printable ` +
      'ASCII characters without spaces.'
    await assert.rejects(readPlatformToken(path, NOTHING, PLATFORM), {
      name: 'PlatformTokenError',
      message,
    })
  }
  await assert.rejects(
    readPlatformToken('-', NOTHING, PLATFORM),
    /^PlatformTokenError: .* standard input:/,
  )
})

it('names a file that cannot be read', async test => {
  const folder = emptyFolder(test)
  const missing = join(folder, 'missing')
  await assert.rejects(readPlatformToken(missing, NOTHING, PLATFORM), {
    name: 'PlatformTokenError',
    message: `The token cannot be read from ${missing} (ENOENT).`,
  })
  mkdirSync(join(folder, 'folder'))
  await assert.rejects(
    readPlatformToken(join(folder, 'folder'), NOTHING, PLATFORM),
    /\(EISDIR\)\.$/,
  )
})

it('rejects a token argument with the reason', () => {
  for (const argument of ['--token', '--token=hidden', '--access-token', '--access_token=hidden']) {
    assert.throws(
      () => rejectTokenArgument(['set', argument, 'hidden']),
      ({ name, message }: Error) =>
        name === 'PlatformTokenError' &&
        /because arguments appear in the process list/.test(message) &&
        !message.includes('hidden'),
    )
  }
  assert.doesNotThrow(() => rejectTokenArgument(['--token-from', 'token', '--out', 'x']))
})

async function* endless(): AsyncGenerator<Buffer> {
  for (;;) yield Buffer.from('x'.repeat(1_000))
}

function emptyFolder(test: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-token-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
