import { DryRunSubmission, ProposalSubmission } from '@signalbox/contract/agents/proposals.ts'
import { compileBodySchema, type SchemaCheck } from '../../http/body-schema.ts'
import { addSchemaErrors, FieldErrorList } from '../../http/field-errors.ts'
import { Refusal } from '../../http/refusal.ts'
import { addProposalFaults } from './proposal-faults.ts'

const checkProposal = compileBodySchema(ProposalSubmission)
const checkDryRun = compileBodySchema(DryRunSubmission)

/**
 * The body of propose-actions, for a credential of one ad account. Throws a 422 refusal with every
 * wrong field; what the ad account and the policy say is not asked here.
 */
export function readProposal(body: unknown, adAccountId: number): ProposalSubmission {
  return checked(checkProposal, body, adAccountId) as ProposalSubmission
}

/** The body of dry_run_actions, in the same way. */
export function readDryRun(body: unknown, adAccountId: number): DryRunSubmission {
  return checked(checkDryRun, body, adAccountId) as DryRunSubmission
}

function checked(check: SchemaCheck, body: unknown, adAccountId: number): unknown {
  const given = body ?? {}
  const faults = new FieldErrorList()
  addSchemaErrors(faults, check(given) ?? [])
  if (typeof given === 'object' && !Array.isArray(given)) {
    addProposalFaults(faults, given as Record<string, unknown>, adAccountId)
  }
  if (!faults.isEmpty) throw Refusal.ofFields(faults.toErrors())
  return given
}
