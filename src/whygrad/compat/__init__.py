"""What only imitates torch's surface: names, absences and their reasons."""
