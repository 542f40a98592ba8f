import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  CommandError,
  readNamedFile,
  readOptions,
  runCommand,
} from '../../../contract/run-command.ts'
import { SignatureError, verifySignedDocument } from '../../../contract/verify-openapi.ts'
import { readContractTypes } from './contract-types.ts'
import { printGo } from './print-go.ts'
import { printPython } from './print-python.ts'
import { printTypeScript } from './print-typescript.ts'
import { type ContractPin, pinContract, readPinnedContract } from './read-contract.ts'

const USAGE =
  'Usage: npm run sdks:generate -- --document FILE --jwks FILE [--pin SHA256]\n' +
  'FILE is a signed contract (/openapi.json of a service, or npm run contract:sign) and its keys.'

export const SDKS = join(import.meta.dirname, '..')
const PIN_PATH = join(import.meta.dirname, 'contract-pin.json')

/** Where the types of each language are. */
const OUTPUTS = [
  { path: 'typescript/src/contract.generated.ts', print: printTypeScript },
  { path: 'python/src/signalbox/_types.py', print: printPython },
  { path: 'go/types.go', print: printGo },
]

/**
 * `npm run sdks:generate` prints the types of the SDKs from a signed contract with the pinned
 * digest. `--pin` replaces the pin by a digest that the caller read elsewhere.
 */
export async function generateCommand(argumentList: readonly string[]): Promise<string> {
  const options = readOptions(argumentList, ['document', 'jwks', 'pin'], USAGE)
  const { document: documentPath, jwks, pin } = options
  if (!documentPath || !jwks) throw new CommandError(USAGE)
  const signed = { text: readNamedFile(documentPath), jwksText: readNamedFile(jwks) }
  try {
    const contract = await verifySignedDocument(signed.text, signed.jwksText)
    const expected = pin ? { ...pinContract(contract.document), sha256: pin } : readPin()
    const document = await readPinnedContract(signed, expected)
    for (const { path, text } of printTypes(document)) writeFileSync(join(SDKS, path), text)
    writeFileSync(PIN_PATH, `${JSON.stringify(expected, null, 2)}\n`)
    return `Printed the types of ${expected.version} (${expected.sha256}).`
  } catch (error) {
    if (error instanceof SignatureError) throw new CommandError(error.message)
    throw error
  }
}

/** The generated files of a verified contract, for those languages whose folder exists. */
export function printTypes(document: object): { path: string; text: string }[] {
  const declarations = readContractTypes(document)
  const { version, sha256 } = pinContract(document)
  return OUTPUTS.filter(({ path }) => existsSync(join(SDKS, path, '..'))).map(
    ({ path, print }) => ({
      path,
      text: print(declarations, `${version} (sha256 ${sha256})`),
    }),
  )
}

/** The digest of the contract that the committed types were printed from. */
export function readPin(): ContractPin {
  return JSON.parse(readFileSync(PIN_PATH, 'utf8'))
}

if (import.meta.main) await runCommand(generateCommand)
