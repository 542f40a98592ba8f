import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { runProgram } from '../testing/fixtures/program.ts'
import { printOpenapi } from './print-openapi.ts'
import { signCommand } from './sign-command.ts'
import { verifyCommand } from './verify-command.ts'

const HERE = import.meta.dirname

it('signs a release that verifies with its published key set', async test => {
  const { key, document, jwks } = folder(test)
  const words = await signCommand(['--key-from', key, '--out', document, '--jwks-out', jwks])
  const { kid } = read(jwks).keys[0]
  assert.equal(words, `${document} is signed with the key ${kid}.`)
  const { 'x-signed': marker, 'x-signature': signature, ...content } = read(document)
  assert.equal(marker, true)
  assert.match(signature, /^[\w-]+\.\.[\w-]{86}$/)
  assert.deepEqual(content, JSON.parse(printOpenapi()))
  assert.equal(
    await verifyCommand(['--document', document, '--jwks', jwks]),
    `${document} is valid and signed with the key ${kid}.`,
  )
})

it('signs for one server when its base URL is given', async test => {
  const { key, document } = folder(test)
  const baseUrl = 'https://events.example.com/api/v1'
  await signCommand(['--key-from', key, '--out', document, '--base-url', baseUrl])
  assert.deepEqual(read(document).servers, [{ url: baseUrl }])
})

it('exits with 0 or 1 and one sentence when run by the npm scripts', async test => {
  const { key, document, jwks } = folder(test)
  const sign = await runProgram([
    join(HERE, 'sign-command.ts'),
    ...['--key-from', key, '--out', document, '--jwks-out', jwks],
  ])
  assert.equal(sign.code, 0)
  assert.match(sign.stdout, /^\S+ is signed with the key [\w-]{43}\.\n$/)
  const verify = [join(HERE, 'verify-command.ts'), '--document', document, '--jwks', jwks]
  assert.equal((await runProgram(verify)).code, 0)
  writeFileSync(document, readFileSync(document, 'utf8').replace('"0.5.0"', '"0.5.1"'))
  const { code, stdout: log, stderr: terminal } = await runProgram(verify)
  assert.equal(code, 1)
  assert.equal(log, '')
  assert.equal(terminal, `${document}: The document was changed after it was signed.\n`)
})

it('reports invalid arguments and files without writing anything', async test => {
  const { key, document, jwks } = folder(test)
  const signUsage = /^Usage: npm run contract:sign -- --key-from FILE --out FILE /
  const verifyUsage = /^Usage: npm run contract:verify -- --document FILE --jwks FILE$/
  for (const list of [[], ['--out', document], ['--key-from', key], ['--key', key], ['x']]) {
    await assert.rejects(signCommand(list), { name: 'CommandError', message: signUsage })
    await assert.rejects(verifyCommand(list), { name: 'CommandError', message: verifyUsage })
  }
  await assert.rejects(signCommand(['--key-from', '/no/such/file', '--out', document]), {
    name: 'CommandError',
    message: '/no/such/file cannot be read (ENOENT).',
  })
  writeFileSync(jwks, 'private, but no key')
  await assert.rejects(signCommand(['--key-from', jwks, '--out', document]), {
    name: 'CommandError',
    message: `There is no Ed25519 private key in ${jwks}, as a JWK or as PKCS#8 in PEM.`,
  })
  assert.equal(existsSync(document), false)
})

function folder(test: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'signalbox-sign-'))
  test.after(() => rmSync(home, { recursive: true, force: true }))
  const key = join(home, 'release-key.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(key, privateKey.export({ format: 'pem', type: 'pkcs8' }))
  return { key, document: join(home, 'signed.json'), jwks: join(home, 'jwks.json') }
}

// biome-ignore lint/suspicious/noExplicitAny: the test reads parsed JSON
function read(path: string): any {
  return JSON.parse(readFileSync(path, 'utf8'))
}
