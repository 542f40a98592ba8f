import { Page } from '../components/page.tsx'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'
import { EraseForm } from '../privacy/erase-form.tsx'
import { ReceiptList } from '../privacy/receipt-list.tsx'
import { WithdrawalList } from '../privacy/withdrawal-list.tsx'

/** Erasing a person from a tracker, the receipts of it, and withdrawals that pages sent. */
export function PrivacyPage() {
  const params = useTrackerParams()
  const canErase = useCanManage()
  return (
    <Page
      title="Privacy"
      description={
        canErase
          ? 'Erase a person from this tracker and keep the proof. Lift forged withdrawals.'
          : 'Erasures, and withdrawals from pages. Owners and admins can erase a person.'
      }
    >
      {canErase && <EraseForm params={params} />}
      <ReceiptList params={params} />
      <WithdrawalList params={params} canLift={canErase} />
    </Page>
  )
}
