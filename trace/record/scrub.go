package record

func scrub(c *conversation) *conversation { return c }
