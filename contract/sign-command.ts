import { writeFileSync } from 'node:fs'
import { createOpenapiDocument } from './openapi-document.ts'
import { formatDocument } from './print-openapi.ts'
import { CommandError, readNamedFile, readOptions, runCommand } from './run-command.ts'
import { publicKeySet, readSigningKey, signOpenapi } from './signing-key.ts'

const USAGE =
  'Usage: npm run contract:sign -- --key-from FILE --out FILE [--jwks-out FILE] [--base-url URL]'

/** `npm run contract:sign` signs a document for a release, without a running service. */
export async function signCommand(argumentList: readonly string[]): Promise<string> {
  const options = readOptions(argumentList, ['key-from', 'out', 'jwks-out', 'base-url'], USAGE)
  const { 'key-from': keyPath, out, 'jwks-out': keysPath, 'base-url': baseUrl } = options
  if (!keyPath || !out) throw new CommandError(USAGE)
  const key = await readSigningKey(readNamedFile(keyPath), 'release')
  if (!key) {
    throw new CommandError(
      `There is no Ed25519 private key in ${keyPath}, as a JWK or as PKCS#8 in PEM.`,
    )
  }
  const signed = await signOpenapi(createOpenapiDocument(baseUrl), key)
  writeFileSync(out, formatDocument(signed))
  if (keysPath) {
    writeFileSync(keysPath, formatDocument(publicKeySet({ current: key, others: [] })))
  }
  return `${out} is signed with the key ${key.publicKey.kid}.`
}

if (import.meta.main) await runCommand(signCommand)
