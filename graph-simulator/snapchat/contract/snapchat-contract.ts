import { createContract } from '../../recorded-contract.ts'
import contract from './conversion-contract.json' with { type: 'json' }

/** The types of Snap's own library, as `record_contract.py` recorded them, for tests only. */
export const SNAPCHAT_CONTRACT = createContract(contract.models)
