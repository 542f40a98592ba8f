import { Page } from '../components/page.tsx'
import { useCanManage, useTrackerParams } from '../layout/scope.ts'
import { EraseForm } from '../privacy/erase-form.tsx'
import { ReceiptList } from '../privacy/receipt-list.tsx'

/** Erasing a person from a tracker, and the receipts of it. */
export function PrivacyPage() {
  const params = useTrackerParams()
  const canErase = useCanManage()
  return (
    <Page
      title="Privacy"
      description={
        canErase
          ? 'Erase a person from this tracker, and keep the proof.'
          : 'The receipts of erasures. Owners and admins can erase a person.'
      }
    >
      {canErase && <EraseForm params={params} />}
      <ReceiptList params={params} />
    </Page>
  )
}
