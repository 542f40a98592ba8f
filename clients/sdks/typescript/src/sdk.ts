// biome-ignore-all lint/performance/noBarrelFile: the entry of the package, which bundlers shake
// biome-ignore-all lint/performance/noReExportAll: types are erased
export { type GetOptions, Signalbox } from './client.ts'
export { type ConsentDetails, type ConsentModeSignals, consent } from './consent.ts'
export type * from './contract.generated.ts'
export {
  APIConnectionError,
  APIError,
  APITimeoutError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  type ErrorType,
  InternalServerError,
  InvalidArgumentError,
  InvalidResponseError,
  NotFoundError,
  PayloadTooLargeError,
  PermissionDeniedError,
  QueueClosedError,
  QueueFullError,
  RateLimitError,
  RedirectError,
  SignalboxError,
  UnprocessableEntityError,
  UnsupportedMediaTypeError,
} from './errors.ts'
export type { EventListRequest, ListParameters } from './event-list.ts'
export type { CreatedEvent } from './event-submission.ts'
export { hash } from './hash.ts'
export type { Hooks, RequestInfo, ResponseInfo, RetryInfo, WarningInfo } from './hooks.ts'
export type { CloseResult, EventQueue, FlushResult, Outcome, QueueOptions } from './queue.ts'
export type { ResponseFacts, Result } from './request.ts'
export { type CallOptions, type ClientOptions, VERSION } from './settings.ts'
export type { WaitOptions } from './wait-for-delivery.ts'
export {
  verifyWebhook,
  type WebhookMessage,
  type WebhookRequest,
  WebhookVerificationError,
} from './webhook.ts'
