import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { createOpenapiDocument } from '../../../contract/openapi-document.ts'
import {
  generateSigningKey,
  publicKeySet,
  readSigningKey,
  type SigningKey,
  signOpenapi,
} from '../../../contract/signing-key.ts'
import { generateCommand, printTypes, readPin, SDKS } from './generate-command.ts'
import { pinContract, readPinnedContract } from './read-contract.ts'

const key = (await readSigningKey(generateSigningKey(), 'release')) as SigningKey
const jwksText = JSON.stringify(publicKeySet({ current: key, others: [] }))
const signed = await signOpenapi(createOpenapiDocument(), key)

const STALE =
  'Sign the contract (npm run contract:sign) and print the types again: ' +
  'npm run sdks:generate -- --document FILE --jwks FILE --pin'

it('the committed types are those of the contract', async () => {
  const pin = readPin()
  const expected = pinContract(JSON.parse(JSON.stringify(signed)))
  assert.deepEqual(pin, expected, `${STALE} ${expected.sha256}`)
  const document = await readPinnedContract({ text: JSON.stringify(signed), jwksText }, pin)
  for (const { path, text } of printTypes(document)) {
    assert.equal(readFileSync(join(SDKS, path), 'utf8'), text, `${path}: ${STALE} ${pin.sha256}`)
  }
})

it('has the same pin for every installation and key', async () => {
  const other = (await readSigningKey(generateSigningKey(), 'development')) as SigningKey
  const served = await signOpenapi(createOpenapiDocument('https://events.example/api/v1'), other)
  assert.deepEqual(pinContract(JSON.parse(JSON.stringify(served))), readPin())
})

it('refuses an unsigned, a changed, a foreign and an unpinned contract', async () => {
  const refuse = async (document: object, reason: RegExp, keys = jwksText) => {
    const contract = { text: JSON.stringify(document), jwksText: keys }
    await assert.rejects(readPinnedContract(contract, readPin()), {
      name: 'SignatureError',
      message: reason,
    })
  }
  await refuse(createOpenapiDocument(), /not signed/)
  await refuse({ ...signed, paths: {} }, /changed after it was signed/)
  const other = (await readSigningKey(generateSigningKey(), 'release')) as SigningKey
  await refuse(
    signed,
    /does not contain/,
    JSON.stringify(publicKeySet({ current: other, others: [] })),
  )
  const changed = { ...createOpenapiDocument(), 'x-new': true }
  await refuse(
    await signOpenapi(changed, key),
    /has version 0\.5\.0 and digest \w{64}\. Pinned are/,
  )
})

it('the command names what is wrong and writes nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalbox-generate-'))
  try {
    const document = join(folder, 'openapi.json')
    const jwks = join(folder, 'jwks.json')
    writeFileSync(jwks, jwksText)
    writeFileSync(document, JSON.stringify(createOpenapiDocument()))
    await assert.rejects(generateCommand([]), { name: 'CommandError', message: /^Usage/ })
    const unsigned = ['--document', document, '--jwks', jwks]
    await assert.rejects(generateCommand(unsigned), { message: /not signed/ })
    writeFileSync(document, JSON.stringify(signed))
    const wrongPin = [...unsigned, '--pin', '0'.repeat(64)]
    await assert.rejects(generateCommand(wrongPin), { message: /Pinned are 0\.5\.0 and 0000/ })
    assert.notEqual(readPin().sha256, '0'.repeat(64))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
