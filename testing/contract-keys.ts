import {
  type ContractKeys,
  generateSigningKey,
  readSigningKey,
} from '@signalbox/contract/signing-key.ts'

/** A new development key, as the first start of an installation makes it. */
export async function newContractKeys(): Promise<ContractKeys> {
  const current = await readSigningKey(generateSigningKey(), 'development')
  if (!current) throw new Error('a new key cannot be read')
  return { current, others: [] }
}
