package trained

import (
	"context"

	"pipe/experts/builder/part"
	"pipe/experts/embedding"
	"pipe/experts/retrieval"
)

// embeddingSettings describe a network on the vectors of claims and passages.
// It is trained on claims that are not instances of the build.
type embeddingSettings struct {
	learnerSettings
	embedding.EncoderSettings
	retrieval.Settings // of the pages that distractors come from
	claimFile
	embeddingLearning
}

// embeddingLearning has everything that the network depends on, except files.
type embeddingLearning struct {
	claimSettings
	mlpLearning
}

func newEmbedding(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := embeddingSettings{
		learnerSettings: defaultLearnerSettings(), claimFile: defaultClaimFile(),
		embeddingLearning: embeddingLearning{defaultClaimSettings(), mlpLearning{
			networkSettings: networkSettings{Epochs: 6, Batch: 128, LearningRate: 0.001, WeightDecay: 0.01},
			Hidden:          []int{64}, Dropout: 0.5,
		}},
	}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	levels, err := s.TakenLevels()
	if err != nil {
		return nil, err
	}
	embedder, err := embedding.Open(ctx, s, cfg.Encoder, levels...)
	if err != nil {
		return nil, err
	}
	examples, err := newClaimExamples(ctx, s, &claimExampleSettings{cfg.claimSettings, cfg.claimFile, cfg.Settings, cfg.Seed}, levels, embedder)
	if err != nil {
		return nil, err
	}
	rt, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	e := &learner{
		learnerSettings: cfg.learnerSettings, examples: examples, encoder: &pairEncoder{embedder},
		trainer: &networkTrainer{networkSettings: cfg.networkSettings, hidden: cfg.Hidden, dropout: cfg.Dropout, balance: byShares, runtime: rt},
	}
	return newLearner(s, e, "embedding", cfg.embeddingLearning)
}
