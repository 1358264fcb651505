/** A log for what is not to be heard. */
export const quietLog = { info: () => {}, warn: () => {}, error: () => {} }
