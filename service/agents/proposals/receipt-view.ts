import type { ActionStatus } from '@signalbox/contract/agents/actions.ts'
import type { DecisionReceipt } from '@signalbox/contract/agents/proposals.ts'
import type { Action } from './action.ts'
import type { Receipt } from './receipt-store.ts'

/** A receipt as it is shown: the document itself, its digest, and where the chain names it. */
export function receiptView({ status }: Pick<Action, 'status'>, receipt: Receipt): DecisionReceipt {
  return {
    document: JSON.parse(receipt.document),
    document_sha256: receipt.documentSha256.toString('hex'),
    chain_entry: { sequence: receipt.sequence, hash: receipt.hash.toString('hex') },
    disposition: {
      receipt_status: 'final',
      outcome_status: status,
      recovery_disposition: recoveryOf(status),
    },
  }
}

/** `none`: nothing was carried out; `not_needed`: it was, and as proposed. */
function recoveryOf(status: ActionStatus): DecisionReceipt['disposition']['recovery_disposition'] {
  switch (status) {
    case 'verified':
      return 'not_needed'
    case 'rolled_back':
      return 'rolled_back'
    case 'execution_uncertain':
      return 'needs_person'
    case 'pending':
    case 'executing':
    case 'executed_pending_verification':
    case 'rejected':
    case 'approved_without_execution':
    case 'failed':
    case 'blocked':
      return 'none'
  }
}
