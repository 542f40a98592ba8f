import { createContract } from '../../recorded-contract.ts'
import contract from './conversion-contract.json' with { type: 'json' }

/**
 * The types of Pinterest's own client, as `record_contract.py` recorded them, for tests only. The
 * client is older (5.14.0) than the OpenAPI (5.23.0, github.com/pinterest/api-description), which
 * adds one member that we send. Neither allows others (`additionalProperties: false`).
 */
const { findProblems, listMembers } = createContract({
  ...contract.models,
  custom_data: { ...contract.models.custom_data, predicted_ltv: 'str' },
})

/** The members that the contract has for a part of a request or an answer. */
export const listContractMembers = listMembers

/** The paths of members that the contract does not have, or has with another type. */
export const findContractProblems = findProblems
