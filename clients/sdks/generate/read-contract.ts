import { createHash } from 'node:crypto'
import { canonicalJson } from '../../../contract/canonical-json.ts'
import { SignatureError, verifySignedDocument } from '../../../contract/verify-openapi.ts'

// biome-ignore lint/suspicious/noExplicitAny: any OpenAPI document
type Json = any

/** The contract from which the committed types were printed. */
export interface ContractPin {
  version: string
  /** `digestContract` of the document. */
  sha256: string
}

interface SignedContract {
  /** The signed document as text. */
  text: string
  /** The trusted JWK set as text. */
  jwksText: string
}

/**
 * The one contract that types may be printed from: signed by a trusted key, and with the pinned
 * digest. Throws a SignatureError otherwise. The contract decides the code of every client,
 * so a valid signature of another version is not enough.
 */
export async function readPinnedContract(
  { text, jwksText }: SignedContract,
  pin: ContractPin,
): Promise<Json> {
  const { document } = await verifySignedDocument(text, jwksText)
  const found = pinContract(document)
  if (found.sha256 === pin.sha256 && found.version === pin.version) return document
  throw new SignatureError(
    `The document has version ${found.version} and digest ${found.sha256}. ` +
      `Pinned are ${pin.version} and ${pin.sha256}.`,
  )
}

/** The pin of a verified document. */
export function pinContract(document: Json): ContractPin {
  return { version: String(document.info?.version), sha256: digestContract(document) }
}

/**
 * SHA-256 of the RFC 8785 text without what differs between installations: the signature, its marks
 * and the server.
 */
function digestContract(document: Json): string {
  const {
    'x-signature': _signature,
    'x-signed': _signed,
    'x-signing-key': _origin,
    servers: _servers,
    ...contract
  } = document
  return createHash('sha256').update(canonicalJson(contract)).digest('hex')
}
