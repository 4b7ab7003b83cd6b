// Outside is the program of another module. Its other files are those of this folder's costs, moved into it.
package main

import (
	"context"
	"log"
	"os"

	"pipe/experts/builder/part"
	"pipe/location"
	"pipe/pipeline/costing"
	"pipe/pipeline/stage"
)

func main() {
	kinds := &part.Kinds{
		Sources:  map[string]part.NewSource{"wordlist": newWordlist},
		Splits:   map[string]part.NewSplit{"leading": splitLeading},
		Losses:   map[string]part.NewLoss{"letters": newLetters},
		Advice:   map[string]part.NewAdvice{"measured": newMeasured},
		Experts:  map[string]part.NewExpert{"repeater": newRepeater},
		Features: map[string]part.NewFeature{"spelling": newSpelling},
	}
	o := costing.Options{Config: location.File(os.Args[1]), Out: location.File(os.Args[2]), Kinds: kinds}
	if _, err := costing.Run(context.Background(), o, stage.Quiet); err != nil {
		log.Fatal(err)
	}
}
