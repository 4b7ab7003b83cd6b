// Package decision is the one path of a decision that every protocol of the server uses: it picks the version of the
// policy, applies the prices of the request, encodes, decides, explores where that is configured, lets shadow policies
// decide beside, and writes the record of the log.
package decision
