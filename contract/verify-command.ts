import { CommandError, readNamedFile, readOptions, runCommand } from './run-command.ts'
import { SignatureError, verifySignedDocument } from './verify-openapi.ts'

const USAGE = 'Usage: npm run contract:verify -- --document FILE --jwks FILE'

/** `npm run contract:verify` prints the key that signed a document, or rejects it. */
export async function verifyCommand(argumentList: readonly string[]): Promise<string> {
  const { document, jwks } = readOptions(argumentList, ['document', 'jwks'], USAGE)
  if (!document || !jwks) throw new CommandError(USAGE)
  try {
    const verified = await verifySignedDocument(readNamedFile(document), readNamedFile(jwks))
    const kind = verified.isDevelopmentKey ? 'development key' : 'key'
    return `${document} is valid and signed with the ${kind} ${verified.keyId}.`
  } catch (error) {
    if (error instanceof SignatureError) throw new CommandError(`${document}: ${error.message}`)
    throw error
  }
}

if (import.meta.main) await runCommand(verifyCommand)
