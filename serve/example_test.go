package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/onnx/ort"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve"
)

// A server on a free port of the loopback address decides on one row of features. policy makes a policy with random
// weights in the place of one of pipe train.
func Example() {
	file, remove := policy()
	defer remove()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	c := serve.DefaultConfig()
	c.Listen = "127.0.0.1:0"
	c.Policies.Paths = []string{file}
	s, err := serve.New(ctx, c, serve.Options{Runtime: ort.DefaultConfig()})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	answer, err := http.Post(s.Addresses().HTTP+"/v1/decide", "application/json", strings.NewReader(`{"features": [[0, 1]]}`))
	if err != nil {
		log.Fatal(err)
	}
	var decided struct {
		Decisions []struct{ Expert, Advice string }
	}
	if err := json.NewDecoder(answer.Body).Decode(&decided); err != nil {
		log.Fatal(err)
	}
	answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println("expert:", decided.Decisions[0].Expert)
	fmt.Println("advice:", decided.Decisions[0].Advice)

	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output:
	// expert: large
	// advice: search
}

// policy writes a policy for two features. A program does not need it.
func policy() (file string, remove func()) {
	folder, err := os.MkdirTemp("", "serve")
	if err != nil {
		log.Fatal(err)
	}
	file = filepath.Join(folder, "policy.onnx")
	if err := decidetest.WriteEncoderPolicy(file, 2, costs.FeatureSource{}, ""); err != nil {
		log.Fatal(err)
	}
	return file, func() { os.RemoveAll(folder) }
}
