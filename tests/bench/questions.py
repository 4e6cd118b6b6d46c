"""Questions whose answers language models give with fewer bits, for quantized_answers.py and `./dev bench --text`."""

QUESTIONS = [
    'What is the capital of France?', 'Name the 4 seasons.', 'How many legs does a spider have?', 'Why is the sky blue?',
    'Write a short poem about the sea.', 'What is the largest planet?', 'Translate "good morning" into Spanish.',
    'Explain photosynthesis in one sentence.', 'Who wrote Romeo and Juliet?', 'Give me three tips for better sleep.']
