"""Four sentences in twenty-four languages, for comparisons of languages without longer texts.

They were written for this purpose and translated by meaning; the first language is the reference. A few sentences show only
the order of magnitude; `toksmith.metrics.parity` accepts longer texts.
"""

from __future__ import annotations

from collections.abc import Mapping

LANGUAGES: Mapping[str, str] = {
    "English": "A child asks why the sky is blue. The teacher opens the window and points at the light. "
    "Every answer begins with a good question. Tomorrow we will ask again.",
    "French": "Un enfant demande pourquoi le ciel est bleu. La maîtresse ouvre la fenêtre et montre la lumière. "
    "Toute réponse commence par une bonne question. Demain, nous demanderons encore.",
    "Spanish": "Un niño pregunta por qué el cielo es azul. La maestra abre la ventana y señala la luz. "
    "Toda respuesta empieza con una buena pregunta. Mañana preguntaremos otra vez.",
    "Portuguese": "Uma criança pergunta por que o céu é azul. A professora abre a janela e aponta para a luz. "
    "Toda resposta começa com uma boa pergunta. Amanhã vamos perguntar de novo.",
    "Italian": "Un bambino chiede perché il cielo è blu. La maestra apre la finestra e indica la luce. "
    "Ogni risposta comincia con una buona domanda. Domani chiederemo di nuovo.",
    "German": "Ein Kind fragt, warum der Himmel blau ist. Die Lehrerin öffnet das Fenster und zeigt auf das Licht. "
    "Jede Antwort beginnt mit einer guten Frage. Morgen fragen wir wieder.",
    "Dutch": "Een kind vraagt waarom de lucht blauw is. De juf opent het raam en wijst naar het licht. "
    "Elk antwoord begint met een goede vraag. Morgen vragen we het opnieuw.",
    "Polish": "Dziecko pyta, dlaczego niebo jest niebieskie. Nauczycielka otwiera okno i pokazuje światło. "
    "Każda odpowiedź zaczyna się od dobrego pytania. Jutro zapytamy znowu.",
    "Russian": "Ребёнок спрашивает, почему небо голубое. Учительница открывает окно и показывает на свет. "
    "Каждый ответ начинается с хорошего вопроса. Завтра мы спросим снова.",
    "Ukrainian": "Дитина питає, чому небо блакитне. Учителька відчиняє вікно й показує на світло. "
    "Кожна відповідь починається з доброго запитання. Завтра ми запитаємо знову.",
    "Greek": "Ένα παιδί ρωτάει γιατί ο ουρανός είναι γαλάζιος. Η δασκάλα ανοίγει το παράθυρο και δείχνει το φως. "
    "Κάθε απάντηση αρχίζει με μια καλή ερώτηση. Αύριο θα ρωτήσουμε ξανά.",
    "Turkish": "Bir çocuk gökyüzünün neden mavi olduğunu soruyor. Öğretmen pencereyi açıyor ve ışığı gösteriyor. "
    "Her cevap iyi bir soruyla başlar. Yarın yeniden soracağız.",
    "Vietnamese": "Một đứa trẻ hỏi vì sao bầu trời màu xanh. Cô giáo mở cửa sổ và chỉ vào ánh sáng. "
    "Mọi câu trả lời đều bắt đầu từ một câu hỏi hay. Ngày mai chúng ta sẽ hỏi lại.",
    "Indonesian": "Seorang anak bertanya mengapa langit berwarna biru. Guru membuka jendela dan menunjuk ke arah "
    "cahaya. Setiap jawaban dimulai dengan pertanyaan yang baik. Besok kita akan bertanya lagi.",
    "Swahili": "Mtoto anauliza kwa nini anga ni la buluu. Mwalimu anafungua dirisha na kuonyesha mwanga. "
    "Kila jibu huanza na swali zuri. Kesho tutauliza tena.",
    "Arabic": "يسأل طفل لماذا السماء زرقاء. تفتح المعلمة النافذة وتشير إلى الضوء. كل جواب يبدأ بسؤال جيد. "
    "غدًا سنسأل مرة أخرى.",
    "Hebrew": "ילד שואל מדוע השמיים כחולים. המורה פותחת את החלון ומצביעה על האור. כל תשובה מתחילה בשאלה טובה. "
    "מחר נשאל שוב.",
    "Hindi": "एक बच्चा पूछता है कि आसमान नीला क्यों है। अध्यापिका खिड़की खोलती हैं और रोशनी की ओर इशारा करती हैं। "
    "हर उत्तर एक अच्छे सवाल से शुरू होता है। कल हम फिर पूछेंगे।",
    "Bengali": "একটি শিশু জিজ্ঞাসা করে আকাশ কেন নীল। শিক্ষিকা জানালা খোলেন এবং আলোর দিকে দেখান। "
    "প্রতিটি উত্তর একটি ভালো প্রশ্ন দিয়ে শুরু হয়। কাল আমরা আবার জিজ্ঞাসা করব।",
    "Tamil": "வானம் ஏன் நீலமாக இருக்கிறது என்று ஒரு குழந்தை கேட்கிறது. ஆசிரியர் ஜன்னலைத் திறந்து ஒளியைக் "
    "காட்டுகிறார். ஒவ்வொரு பதிலும் ஒரு நல்ல கேள்வியில் தொடங்குகிறது. நாளை நாம் மீண்டும் கேட்போம்.",
    "Thai": "เด็กคนหนึ่งถามว่าทำไมท้องฟ้าจึงเป็นสีฟ้า คุณครูเปิดหน้าต่างและชี้ไปที่แสง ทุกคำตอบเริ่มจากคำถามที่ดี พรุ่งนี้เราจะถามอีกครั้ง",
    "Chinese": "一个孩子问天空为什么是蓝色的。老师打开窗户，指着光。每个答案都从一个好问题开始。明天我们再问一次。",
    "Japanese": "子どもが、空はなぜ青いのかと尋ねます。先生は窓を開けて、光を指さします。"
    "どんな答えも良い質問から始まります。明日、私たちはまた尋ねます。",
    "Korean": "한 아이가 하늘이 왜 파란지 묻습니다. 선생님은 창문을 열고 빛을 가리킵니다. "
    "모든 답은 좋은 질문에서 시작됩니다. 내일 우리는 다시 물을 것입니다.",
}
