import { openapiDocument } from '@signalbox/contract/openapi-document.ts'
import { BASE_PATH } from '@signalbox/contract/operations.ts'
import { printedDocument } from '@signalbox/contract/print-openapi.ts'
import { signOpenapi } from '@signalbox/contract/sign-openapi.ts'
import type { SigningKey } from '@signalbox/contract/signing-key.ts'
import { type TaggedText, taggedText } from './tagged-text.ts'

/**
 * The contract as this installation serves it: with its own address in `servers`, so that tools
 * call it, and signed. It is made once; the origin is known only when the port is.
 */
export function signedContract(key: SigningKey): (origin: string) => Promise<TaggedText> {
  let made: { origin: string; contract: Promise<TaggedText> } | null = null
  return origin => {
    if (made?.origin !== origin) made = { origin, contract: sign(origin, key) }
    return made.contract
  }
}

async function sign(origin: string, key: SigningKey): Promise<TaggedText> {
  const document = await signOpenapi(openapiDocument(`${origin}${BASE_PATH}`), key)
  return taggedText(printedDocument(document))
}
