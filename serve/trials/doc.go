// Package trials tries candidates beside the policies of a server, and acts on what the gate says: it ends the share of a
// candidate that costs more, and puts one that costs less in place of the live policy.
//
// What was decided is in the file candidates.json of the decision log's folder, which is written before anything is done, so that
// a kill at any moment leaves nothing half done. What was counted is not kept: [Open] counts the log again, each record once.
package trials
