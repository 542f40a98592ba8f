/** What the decision must know beside the inputs; the room reads no clock of its own. */
export interface ConsentMoment {
  /** When the service received the event. Ages are counted from here. */
  receivedAt: Date
  /** When the event took place; consent captured later than this cannot cover it. */
  eventTime: Date
  /** True when the event carries a usable identifier of a person. */
  identityPresent: boolean
}
