package language

// Conversation is the turns before an answer, in order.
type Conversation []Message

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}
