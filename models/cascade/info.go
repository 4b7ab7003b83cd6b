package cascade

import "pipe/costs"

// Info is the metadata of a cascade file.
type Info struct {
	Format  int            // version of the file
	Actions *costs.Actions // names and fees that it was trained with
	Dim     int            // width of the features
	Facts   []costs.Fact   // what is seen of an answer, F of them
	Stages  int            // pairs that are executed on a row, at most
	Lambda  float64        // multiplier of the advice fees that it was trained for
	States  [][]int        // pairs that were executed in every state that has a policy, ascending; the first is empty
	Guard   *Guard         // nil if not in the file
	Names   []string       // names of the features; nil if not in the file
	Info    map[string]string
}

// OneShot reports whether the file accepts every first answer.
func (i *Info) OneShot() bool { return len(i.States) == 1 }
