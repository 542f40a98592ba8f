import { BASE_PATH } from '@signalbox/contract/operations.ts'
import type { RequestLimits } from '../runtime/http/request-limits.ts'
import type { ServiceApp } from '../runtime/http/service-app.ts'
import type { Settings } from '../runtime/settings/settings.ts'
import type { CredentialKeys } from '../runtime/util/sealed-credential.ts'
import { type DeliveryRoutesContext, deliveryRoutes, withdrawalRoutes } from './delivery/routes.ts'
import { type DeletionContext, erasureRoutes } from './erasure/routes.ts'
import { type EventReadContext, eventReadRoutes } from './event-reads/routes.ts'
import {
  type IngestionContext,
  ingestionRoutes,
  type TestPurchaseContext,
  testPurchaseRoutes,
} from './ingestion/routes.ts'
import type { PlatformRegistry } from './platforms/registry.ts'
import { type RefusalContext, recordRefusals } from './refusals/refusal-recorder.ts'
import { type ReportContext, trackerReportRoutes } from './reports/routes.ts'
import { type SandboxContext, sandboxRoutes } from './sandbox/routes.ts'

/** What the routes of this room depend on. */
export interface SignalsContext
  extends IngestionContext,
    TestPurchaseContext,
    DeliveryRoutesContext,
    EventReadContext,
    ReportContext,
    DeletionContext,
    SandboxContext {
  refusals: RefusalContext['refusals']
  settings: Settings
  limits: RequestLimits
  platforms: PlatformRegistry
  credentialKeys: CredentialKeys
}

/** The API of trackers: events, their deliveries and reports, erasure, and the sandbox. */
export function signalsRoutes(app: ServiceApp, context: SignalsContext): void {
  app.register(
    async api => {
      recordRefusals(api, context)
      ingestionRoutes(api, context)
      testPurchaseRoutes(api, context)
      deliveryRoutes(api, context)
      withdrawalRoutes(api, context)
      eventReadRoutes(api, context)
      trackerReportRoutes(api, context)
      erasureRoutes(api, context)
      sandboxRoutes(api, context)
    },
    { prefix: BASE_PATH },
  )
}
